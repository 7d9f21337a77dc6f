import json
from collections.abc import Callable

import msgspec
import pytest
from click.testing import Result

from services.cli import output
from services.core import models, ports
from services.proxy.parts import Parts
from tests.support.in_memory import NOW, keep, memory

Brb = Callable[..., Result]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output goes to a terminal of 100 columns, without colours."""
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody is there to be asked."""
    monkeypatch.setattr(output, "is_interactive", lambda: True)


def rows(result: Result) -> list[list[str]]:
    assert result.exit_code == 0, result.output
    return [line.split("\t") for line in result.stdout.splitlines()]


def test_a_list_in_a_pipe_is_tab_separated_with_whole_ids(brb: Brb, running: Parts) -> None:
    newer, older = memory("I prefer dark mode", said_at=NOW - 60), memory("We use Postgres", said_at=NOW - 120, project="shop", mentions=3)
    keep(running, newer, older)

    assert rows(brb("memories", "list")) == [
        [newer.id, "preference", "2026-09-21", "1", "me", "private", "", "I prefer dark mode"],
        [older.id, "preference", "2026-09-21", "3", "me", "private", "shop", "We use Postgres"],
    ]


def test_a_list_on_a_terminal_is_a_table_with_short_ids(brb: Brb, running: Parts, terminal: None) -> None:
    kept = memory("I prefer dark mode")
    keep(running, kept)

    shown = brb("memories", "list").stdout

    assert shown.splitlines()[0].split() == ["id", "category", "said", "times", "by", "scope", "project", "text"]
    assert kept.id[:8] in shown
    assert kept.id not in shown


def test_a_longer_list_says_how_to_see_more(brb: Brb, running: Parts) -> None:
    keep(running, *(memory(f"Fact number {n}", said_at=NOW - n) for n in range(25)))

    first, last = brb("memories", "list"), brb("memories", "list", "--offset", "20")

    assert len(rows(first)) == 20
    assert first.stderr == "1 to 20 of 25: see more with --offset 20\n"
    assert [row[-1] for row in rows(last)] == [f"Fact number {n}" for n in range(20, 25)]
    assert last.stderr == ""


def test_an_empty_list_says_so_beside_the_result(brb: Brb, running: Parts) -> None:
    result = brb("memories", "list", "--category", "todo")

    assert (result.stdout, result.stderr) == ("", "nothing is remembered\n")


def test_json_is_one_document_on_stdout(brb: Brb, running: Parts) -> None:
    keep(running, memory("I prefer dark mode"))

    listed = json.loads(brb("memories", "list", "--json").stdout)

    assert [m["text"] for m in listed["memories"]] == ["I prefer dark mode"]
    assert listed["total"] == 1


def test_a_search_takes_its_words_unquoted(brb: Brb, running: Parts) -> None:
    keep(running, memory("We use Postgres as our database"), memory("My cat is called Mia"))

    found = rows(brb("memories", "search", "which", "database", "do", "we", "use"))

    assert [row[-1] for row in found] == ["We use Postgres as our database"]


def test_what_others_share_is_listed_found_and_recalled_with_its_author(brb: Brb, running: Parts) -> None:
    keep(running, memory("We use Postgres as our database", owner="ana", visibility=models.Visibility.TEAM))

    for command in (("memories", "list"), ("memories", "search", "which database do we use"), ("recall", "which database do we use")):
        ((*_, row),) = [rows(brb(*command))]
        assert {"ana", "team", "2026-09-21"} <= set(row), command


def test_a_memory_is_shown_with_the_words_that_prove_it(brb: Brb, running: Parts) -> None:
    kept = memory("We use Postgres", attribute="uses", value="Postgres", evidence=(models.Evidence("oh and we use Postgres", "t", NOW),))
    keep(running, kept)

    shown = brb("memories", "show", kept.id[:8]).stdout

    assert shown.splitlines()[0] == "We use Postgres"
    assert f"id\t{kept.id}" in shown
    assert "about\tuser, uses, Postgres" in shown
    assert "“oh and we use Postgres” — said 2026-09-21 14:13 UTC" in shown


def test_a_memory_is_shown_with_the_times_it_states(brb: Brb, running: Parts) -> None:
    kept = memory("I'm on leave until Friday", when="until Friday", valid_from=NOW, valid_to=NOW + 86_400)
    keep(running, kept)

    shown = brb("memories", "show", kept.id[:8]).stdout

    assert "when\tuntil Friday" in shown
    assert "valid from\t2026-09-21 14:13 UTC" in shown
    assert "valid until\t2026-09-22 14:13 UTC" in shown


@pytest.mark.parametrize("command", ["show", "history", "forget"])
@pytest.mark.parametrize(
    ("asked", "status", "says"),
    [
        ("ffffffff", 4, "no memory has an id that starts with ffffffff"),
        ("00000000-0000-0000-0000-000000000007", 4, "there is no memory 00000000-0000-0000-0000-000000000007"),
        ("abc", 2, "'abc' is not the id of a memory, nor the first 4 or more characters of one"),
        ("nonsense!", 2, "'nonsense!' is not the id of a memory, nor the first 4 or more characters of one"),
        ("aaaaaaaa", 2, "2 memories have ids that start with aaaaaaaa: give more characters"),
    ],
)
def test_an_id_that_names_no_single_memory_is_an_error_of_one_line(
    brb: Brb, running: Parts, command: str, asked: str, status: int, says: str
) -> None:
    keep(running, *(memory(f"Twin {n}", id=f"aaaaaaaa-0000-4000-8000-00000000000{n}") for n in (1, 2)))

    result = brb("memories", command, asked)

    assert (result.exit_code, result.stderr, result.stdout) == (status, f"error: {says}\n", "")


def test_a_correction_is_shown_and_what_it_replaced_is_in_the_history(brb: Brb, running: Parts) -> None:
    kept = memory("My name is Leo")
    keep(running, kept)

    edited = brb("memories", "edit", kept.id[:8], "--text", "My name is Leoncio", "--category", "personal_info")

    assert [(row[0], row[1], row[-1]) for row in rows(edited)] == [(kept.id, "personal_info", "My name is Leoncio")]
    assert [(row[1], row[-1]) for row in rows(brb("memories", "history", kept.id))] == [
        ("current", "My name is Leoncio"),
        ("superseded", "My name is Leo"),
    ]


def test_an_edit_without_a_change_and_without_a_person_is_wrong_usage(brb: Brb, running: Parts) -> None:
    result = brb("memories", "edit", "aaaaaaaa")

    assert (result.exit_code, result.stderr) == (2, "error: nothing to change: give --text, --category or both\n")


def test_an_edit_without_options_asks_the_person(brb: Brb, running: Parts, person: None) -> None:
    kept = memory("My name is Leo")
    keep(running, kept)

    assert brb("memories", "edit", kept.id[:8], input="My name is Leoncio\n").exit_code == 0
    assert brb("memories", "edit", kept.id[:8], input="\n").stderr.endswith("error: nothing was changed\n")
    assert running.store.find(models.Scope("local", "me", None))[0].text == "My name is Leoncio"


def test_several_memories_are_forgotten_and_each_is_told(brb: Brb, running: Parts) -> None:
    first, second, kept = memory("One fact"), memory("Two facts"), memory("Kept fact")
    keep(running, first, second, kept)
    running.ledger.write({"k": ports.Entry("block", (first.id,))})

    result = brb("memories", "forget", first.id[:8], second.id, first.id)

    assert result.stdout.splitlines() == [
        f"{first.id} forgotten: 1 version, 1 inserted block",
        f"{second.id} forgotten: 1 version, 0 inserted blocks",
    ]
    assert [row[-1] for row in rows(brb("memories", "list"))] == ["Kept fact"]


def test_two_versions_of_one_memory_are_forgotten_together(brb: Brb, running: Parts) -> None:
    old = memory("My name is Leo", status=models.Status.SUPERSEDED)
    new = memory("My name is Leoncio", lineage=old.id, supersedes=old.id)
    keep(running, old, new)

    receipts = json.loads(brb("memories", "forget", old.id, new.id, "--json").stdout)

    assert [(one["id"], one["deleted"], one["ledger"]) for one in receipts] == [(old.id, 2, 0)]


def test_one_wrong_id_forgets_nothing(brb: Brb, running: Parts) -> None:
    kept = memory("One fact")
    keep(running, kept)

    assert brb("memories", "forget", kept.id, "ffffffff").exit_code == 4
    assert len(rows(brb("memories", "list"))) == 1


@pytest.mark.parametrize(("words", "answer", "left"), [((), "n\n", 1), ((), "y\n", 0), (("--yes",), "", 0)])
def test_a_person_is_asked_before_forgetting(brb: Brb, running: Parts, person: None, words: tuple[str, ...], answer: str, left: int) -> None:
    kept = memory("One fact")
    keep(running, kept)

    result = brb("memories", "forget", kept.id, *words, input=answer)

    assert result.exit_code == (1 if left else 0)
    assert running.store.count(models.Scope("local", "me", None)) == left


def test_a_text_cant_give_orders_to_the_terminal(brb: Brb, running: Parts, terminal: None) -> None:
    keep(running, memory("clear \x1b[2J the [bold]screen[/bold] \u202e please"))

    shown = brb("memories", "list").stdout

    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown
    assert "[bold]screen[/bold]" in shown


@pytest.mark.parametrize(
    "command", [("memories", "list"), ("memories", "search", "x"), ("recall", "x"), ("status",), ("jobs", "list"), ("jobs", "dead")]
)
def test_every_command_says_how_to_start_a_brb_that_is_not_running(brb: Brb, free_port: int, command: tuple[str, ...]) -> None:
    result = brb(*command)

    assert result.exit_code == 3
    cure = "start it with `make up` or `brb up`, or set BRB_URL to another"
    assert result.stderr == f"error: BRB is not running at http://127.0.0.1:{free_port}: {cure}\n"


def test_a_wrong_setting_is_told_in_one_line(brb: Brb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRB_PORT", "99999")
    result = brb("memories", "list")

    assert result.exit_code == 1
    assert result.stderr.startswith("error: BRB_PORT: ")
    assert len(result.stderr.splitlines()) == 1


def test_a_text_that_the_service_refuses_is_wrong_usage(brb: Brb, running: Parts) -> None:
    kept = memory("One fact")
    keep(running, kept)

    result = brb("memories", "edit", kept.id, "--text", "  ")

    assert (result.exit_code, result.stderr) == (2, "error: text is empty: to erase a memory use DELETE\n")


def test_what_the_client_reads_is_what_the_service_wrote(brb: Brb, running: Parts) -> None:
    kept = msgspec.structs.replace(memory("We use Postgres"), entities=("Postgres",), qualifiers=("production",), valid_to=NOW)
    keep(running, kept)

    shown = json.loads(brb("memories", "show", kept.id, "--json").stdout)

    assert (shown["entities"], shown["qualifiers"], shown["valid_to"]) == (["Postgres"], ["production"], "2026-09-21T14:13:20Z")
