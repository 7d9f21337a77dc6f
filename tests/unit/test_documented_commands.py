"""The commands that documents name are there: of `brb` with their options, of Compose with their services, and targets of `make`."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
import yaml

from services.cli import app

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "ops" / "runbook.md", *sorted((ROOT / "docs").glob("*.md"))]
SERVICES = yaml.safe_load(re.sub(r"!(reset|override)", "", (ROOT / "deploy" / "docker-compose.yml").read_text()))["services"]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
BRB = typer.main.get_command(app.build())
_TAKES_A_SERVICE = ("exec", "run", "stop", "start", "restart", "logs", "up", "cp", "ps")
_WITH_A_VALUE = ("-e", "-v", "-f", "--file", "--name", "--entrypoint", "--scale")


def commands(document: Path) -> Iterator[list[str]]:
    """Each by its words, as a shell has them: in blocks and in backticks, with what is behind `&&`, `;` or `|` by itself."""
    text = document.read_text()
    blocks = re.findall(r"^ *```(?:sh)?\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)
    spans = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()] + spans
    for line in lines:
        for part in re.split(r"&&|\|\||[;|]", line):
            try:
                words = shlex.split(part.strip().strip("()"), comments=True)
            except ValueError:  # prose
                continue
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                words.pop(0)
            yield words


def wrong_with_brb(words: list[str]) -> str:
    """Which of the words after `brb` does not exist, "" if all do."""
    command = BRB
    for at, word in enumerate(words):
        if word == "…":
            return ""
        if word.startswith("--") and word != "--help":
            known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
            if word.partition("=")[0] not in known:
                return word
        elif hasattr(command, "commands") and not word.startswith("-") and not word.isupper():
            if word not in command.commands:
                return " ".join(words[: at + 1])
            command = command.commands[word]
    return ""


def wrong_with_compose(words: list[str]) -> str:
    """The same of the words after `docker compose`. An image of BRB has `brb` as its entrypoint: `run` gives arguments to that, `exec` a program."""
    words = list(words)
    while words and words[0] in ("-f", "--file"):
        if not (ROOT / words[1]).exists():
            return words[1]
        words = words[2:]
    if not words or words[0] not in _TAKES_A_SERVICE:
        return ""
    verb, rest = words[0], words[1:]
    entrypoint = "--entrypoint" in rest
    named = []
    while rest:
        word = rest.pop(0)
        if word in _WITH_A_VALUE:
            rest = rest[1:]
        elif not word.startswith("-"):
            named.append(word.partition(":")[0] if verb == "cp" else word)
            if verb in ("exec", "run"):
                break
    for name in named:
        if name not in (*SERVICES, "SERVICE", ".") and verb != "cp":
            return name
    if verb == "exec" and rest and rest[0] == "brb":
        return wrong_with_brb(rest[1:])
    if verb == "run" and not entrypoint and named and str(SERVICES[named[0]]["image"]).startswith("${APP_IMAGE"):
        return wrong_with_brb(rest)
    return ""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_that_a_document_names_exists(document: Path) -> None:
    wrong = []
    for words in commands(document):
        if words[:1] == ["brb"]:
            wrong.append(wrong_with_brb(words[1:]))
        elif words[:2] == ["docker", "compose"]:
            wrong.append(wrong_with_compose(words[2:]))
        elif words[:1] == ["make"]:
            wrong += [word for word in words[1:] if "=" not in word and not word.startswith("-") and word not in TARGETS]

    assert [word for word in wrong if word] == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("brb memories list --json", ""),
        ("brb memories lists", "memories lists"),
        ("brb backup --fast", "--fast"),
        ("docker compose exec -e BRB_KEY=brb_x proxy brb doctor", ""),
        ("docker compose exec proxy brb doktor", "doktor"),
        ("docker compose run --rm --no-deps -v $PWD:/backup:ro proxy restore /backup/FILE", ""),
        ("docker compose run --rm --no-deps -v $PWD:/backup:ro proxy brb restore /backup/FILE", "brb"),
        ("docker compose stop proxy workers", "workers"),
        ("docker compose -f deploy/none.yml up -d", "deploy/none.yml"),
    ],
)
def test_a_wrong_command_is_found(words: str, expected: str) -> None:
    first, *rest = words.split()
    assert (wrong_with_brb(rest) if first == "brb" else wrong_with_compose(rest[1:])) == expected
