import hashlib
import hmac

import pytest

from services.core import errors, models, rights, tokens

ADMIN = models.Principal("acme", "ana", models.Role.ADMIN)
CURATOR = models.Principal("acme", "cleo", models.Role.CURATOR)
MEMBER = models.Principal("acme", "leo")


def test_a_token_is_its_prefix_a_public_id_and_256_bits() -> None:
    made = tokens.make()

    assert made.text.startswith(f"brb_{made.id}_")
    assert len(made.text) == len("brb_") + 12 + 1 + 43 + 8
    assert tokens.id_of(made.text) == made.id
    assert tokens.is_of(made.text, made.digest)
    assert made.digest == hashlib.sha256(made.text.encode()).digest()


def test_no_two_tokens_are_alike() -> None:
    made = [tokens.make() for _ in range(200)]

    assert len({one.id for one in made}) == len({one.text[17:60] for one in made}) == 200


def test_a_token_with_one_character_wrong_is_none() -> None:
    """Whichever it is: the prefix, the id, the secret or the checksum."""
    text = tokens.make().text
    for at, character in enumerate(text):
        wrong = text[:at] + ("a" if character != "a" else "b") + text[at + 1 :]
        assert tokens.id_of(wrong) is None, at


@pytest.mark.parametrize("text", ["", "brb_", "brb__", "sk-ant-1234", "brb_" + "a" * 12 + "_" + "x" * 51, "brb_operator_" + "0" * 64, "ü" * 68, "\n"])
def test_what_is_shaped_otherwise_is_no_token(text: str) -> None:
    assert tokens.id_of(text) is None


@pytest.mark.parametrize("change", [str.upper, lambda text: text + " ", lambda text: text + "\n", lambda text: text[:-1]])
def test_a_token_is_taken_as_it_was_given_out(change) -> None:  # type: ignore[no-untyped-def]
    made = tokens.make()

    assert tokens.id_of(change(made.text)) is None
    assert not tokens.is_of(change(made.text), made.digest)


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []
    monkeypatch.setattr(hmac, "compare_digest", lambda one, other: compared.append((one, other)) or one == other)
    made = tokens.make()

    assert tokens.is_of(made.text, made.digest)
    assert not tokens.is_of(tokens.make().text, made.digest)
    assert [len(one) for one, _ in compared] == [32, 32]  # digests: the length of what is compared tells nothing


def test_the_operators_key_follows_from_the_secret() -> None:
    key = tokens.operator_key("one")

    assert key == tokens.operator_key("one") != tokens.operator_key("other")
    assert tokens.names_operator(key)
    assert "one" not in key.removeprefix("brb_operator_")
    assert not tokens.names_operator(tokens.make().text)


@pytest.mark.parametrize("name", ["leo", "Leo.M-2_x@acme.example", "a", "a" * 64])
def test_names_that_are_taken(name: str) -> None:
    assert tokens.checked_name(name, "user") == name


@pytest.mark.parametrize("name", ["", "a" * 65, "a:b", "a b", "a/b", "a\n", "..\\", "müller", "a\0", "١"])
def test_names_that_would_be_taken_for_something_else_are_refused(name: str) -> None:
    """Keys of the store are made of them."""
    with pytest.raises(errors.BadInput, match="user"):
        tokens.checked_name(name, "user")


@pytest.mark.parametrize(
    ("maker", "team", "may"),
    [
        (ADMIN, "acme", True),
        (ADMIN, "evil", False),
        (ADMIN, "", False),
        (CURATOR, "acme", False),
        (MEMBER, "acme", False),
        (rights.OPERATOR, "acme", True),
        (models.Principal("", "me"), "acme", False),
    ],
)
def test_who_may_make_tokens_of_which_team(maker: models.Principal, team: str, may: bool) -> None:
    assert tokens.may_make(maker, team) is may


@pytest.mark.parametrize(
    ("principal", "team", "user", "sees"),
    [
        (MEMBER, "acme", "leo", True),
        (MEMBER, "acme", "ana", False),
        (MEMBER, "evil", "leo", False),
        (CURATOR, "acme", "leo", False),
        (ADMIN, "acme", "leo", True),
        (ADMIN, "evil", "leo", False),
        (rights.OPERATOR, "evil", "leo", True),
    ],
)
def test_who_sees_whose_tokens(principal: models.Principal, team: str, user: str, sees: bool) -> None:
    assert tokens.sees(principal, team, user) is sees
