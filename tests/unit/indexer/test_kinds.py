import pytest

from services.indexer import kinds


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Postgres 16", "CockroachDB", True),
        ("Sublime Text", "Neovim", True),
        ("VS Code", "vim", True),
        ("light mode", "dark mode", True),
        ("a backend engineer", "engineering manager at Acme", True),
        ("team of five", "team of six", True),
        ("on Fridays", "on Mondays", True),
        ("light roast", "dark roast", True),
        ("Postgres", "Redis", False),
        ("backend engineer", "father of two", False),
        ("vegan", "married", False),
        ("on Fridays", "to staging", False),
        ("Postgres", "Foobar", None),
        ("coffee", "tea", None),
    ],
)
def test_values_are_of_one_kind_of_different_kinds_or_unknown(one: str, other: str, expected: bool | None) -> None:
    assert kinds.same(one, other) is expected
    assert kinds.same(other, one) is expected


@pytest.mark.parametrize(("value", "kind"), [("the Postgres 16", {"database"}), ("father of two", {"family"}), ("Foobar", set()), ("", set())])
def test_a_value_has_the_kinds_of_its_name(value: str, kind: set[str]) -> None:
    assert kinds.of(value) == kind


def test_rivals_are_all_of_the_kind() -> None:
    assert {"vim", "sublime"} <= set(kinds.rivals("Neovim").split())
    assert kinds.rivals("Foobar") == ""
