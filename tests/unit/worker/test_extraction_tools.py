import pytest

from services.worker.extraction import tools


@pytest.mark.parametrize(
    ("value", "kind"),
    [("Postgres", "database"), ("postgres 15", "database"), ("VS Code", "editor"), ("GitHub Actions", "ci"), ("Python", "")],
)
def test_tools_are_known_by_what_they_are_for(value: str, kind: str) -> None:
    assert tools.kind(value) == kind


@pytest.mark.parametrize(("value", "known"), [("Go 1.22", True), ("React Native", True), ("pytest and hypothesis", True), ("Vienna", False)])
def test_a_value_that_begins_with_a_tool_is_known(value: str, known: bool) -> None:
    assert tools.known(value) is known


@pytest.mark.parametrize(
    ("value", "product"), [("Python 3.12", "python"), ("Ubuntu 24.04 LTS", "ubuntu"), ("Node v22", "node"), ("Postgres", ""), ("May 15 at noon", "")]
)
def test_a_version_is_told_from_its_product(value: str, product: str) -> None:
    assert tools.versioned(value) == product


@pytest.mark.parametrize(("value", "is_one"), [("Kotlin", True), ("C++", True), ("SQL", False), ("Postgres", False), ("React", False)])
def test_languages_of_whole_programs_are_told_from_other_tools(value: str, is_one: bool) -> None:
    assert tools.language(value) is is_one
