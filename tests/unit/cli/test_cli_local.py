import signal

import pytest

from services.cli import local


class Running:
    base_url = "http://127.0.0.1:3001"
    data_dir = "/data"
    processes: dict[str, int] = {}  # noqa: RUF012 - as the protocol has it


@pytest.mark.parametrize(
    ("program", "on_path", "called"),
    [
        ("/venv/bin/brb", True, "brb"),
        (".venv/bin/brb", False, ".venv/bin/brb"),
        ("/src/services/cli/__main__.py", False, "brb"),
    ],
)
def test_a_person_is_told_a_command_that_their_shell_finds(program: str, on_path: bool, called: str) -> None:
    assert local.command_name(program, on_path=on_path) == called


@pytest.mark.parametrize(("detached", "stop"), [(True, ".venv/bin/brb down"), (False, "Ctrl-C")])
def test_the_greeting_names_both_apis_and_what_to_do_next(detached: bool, stop: str) -> None:
    said = "\n".join(local.greeting(Running(), ".venv/bin/brb", tokens=False, detached=detached))

    assert "token" not in said
    for wanted in ("ANTHROPIC_BASE_URL=http://127.0.0.1:3001", "OPENAI_BASE_URL=http://127.0.0.1:3001/v1", ".venv/bin/brb memories list", stop):
        assert wanted in said


def test_the_greeting_of_a_team_says_how_to_make_a_token_and_leads_nobody_to_calls_without() -> None:
    said = "\n".join(local.greeting(Running(), "brb", tokens=True, detached=True))

    for wanted in ("brb token create -h", "docs/access.md", "BRB_KEY=<token> brb memories list\n"):
        assert wanted in said
    assert "_BASE_URL" not in said


@pytest.mark.parametrize("tokens", [True, False])
def test_the_greeting_fits_a_terminal_of_80_columns(tokens: bool) -> None:
    """Its first line may name a long folder."""
    assert max(map(len, local.greeting(Running(), ".venv/bin/brb", tokens=tokens, detached=True)[1:])) <= 80


def test_a_piece_of_work_that_is_told_to_end_cleans_up_first() -> None:
    cleaned = []

    def work() -> None:
        with local.steps(plain=True):
            try:
                signal.raise_signal(signal.SIGTERM)
            finally:
                cleaned.append(True)

    with pytest.raises(SystemExit) as ended:
        work()
    assert (ended.value.code, cleaned) == (143, [True])
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
