"""One suite over all books of tokens."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.core import errors, models, ports, tokens
from services.core.adapters import in_memory_tokens, known_tokens, redis_client, redis_tokens
from services.core.seal import Seal

SEAL = Seal("secret")
NOW = 1_790_000_000.25


def token(name: str = "t1", **fields: object) -> ports.Token:
    given = {"id": name, "team": "acme", "user": "leo", "role": models.Role.MEMBER, "created_at": NOW} | fields
    return ports.Token(**given)  # type: ignore[arg-type]


def redis_book(address: str, seal: Seal = SEAL) -> redis_tokens.RedisTokenBook:
    return redis_tokens.RedisTokenBook(redis_client.connect(address, timeout_seconds=2), seal)


@pytest.fixture(params=["memory", "redis", "known"])
def book(request: pytest.FixtureRequest) -> Iterator[ports.TokenBook]:
    if request.param == "memory":
        yield in_memory_tokens.InMemoryTokenBook()
        return
    kept = redis_book(request.getfixturevalue("redis_address"))
    if request.param == "redis":
        yield kept
        return
    known = known_tokens.KnownTokens(kept)
    known.renew()
    yield known


def renewed(book: ports.TokenBook) -> ports.TokenBook:
    if isinstance(book, known_tokens.KnownTokens):
        book.renew()
    return book


def test_a_token_comes_back_as_it_was_kept(book: ports.TokenBook) -> None:
    given = token(label="laptop", created_by="ana", expires_at=NOW + 5, role=models.Role.CURATOR)
    book.add(given, b"\0digest\xff")

    assert book.find("t1") == ports.StoredToken(given, b"\0digest\xff")
    assert book.find("t2") is None
    assert book.find("") is None


def test_all_come_oldest_first(book: ports.TokenBook) -> None:
    for name, made in (("b", 3.0), ("a", 3.0), ("c", 1.0)):
        book.add(token(name, created_at=made), b"")

    assert [one.token.id for one in book.all()] == ["c", "a", "b"]


def test_a_token_is_revoked_once_and_for_good(book: ports.TokenBook) -> None:
    book.add(token(), b"d")

    assert book.revoke("t1", NOW + 1)
    assert not book.revoke("t1", NOW + 2)
    assert not book.revoke("t2", NOW)
    found = book.find("t1")
    assert found is not None
    assert found.token.revoked_at == NOW + 1
    assert not found.token.valid(NOW)
    assert [one.token.revoked_at for one in book.all()] == [NOW + 1]


def test_when_its_sessions_were_ended_last_is_known(book: ports.TokenBook) -> None:
    book.add(token(), b"d")
    book.signed_out("t1", NOW + 3)
    book.signed_out("t2", NOW)

    found = book.find("t1")
    assert found == ports.StoredToken(token(), b"d", NOW + 3)
    assert renewed(book).all() == [found]


def test_when_it_was_used_last_is_known(book: ports.TokenBook) -> None:
    book.add(token(), b"d")
    book.used("t1", NOW + 7)

    (found,) = renewed(book).all()
    assert found.token.used_at == NOW + 7
    assert found == book.find("t1")


def test_the_use_of_an_unknown_token_is_nobodys(book: ports.TokenBook) -> None:
    book.used("t9", NOW)

    assert renewed(book).all() == []


def test_with_another_secret_key_tokens_are_void_once_one_is_made_with_it(redis_address: str) -> None:
    former, other = redis_book(redis_address), redis_book(redis_address, Seal("another"))
    former.add(token("old"), b"d")

    with pytest.raises(errors.Permanent, match="every token is sealed with another BRB_SECRET_KEY"):
        other.all()
    other.add(token("new"), b"d")

    assert [one.token.id for one in other.all()] == ["new"]
    assert other.find("old") is None
    assert [one.token.id for one in former.all()] == ["old"]  # the former key is put back


def test_no_two_revoke_the_same(redis_address: str) -> None:
    """Of two processes one has done it."""
    one, other = redis_book(redis_address), redis_book(redis_address)
    one.add(token(), b"d")

    assert [one.revoke("t1", 1.0), other.revoke("t1", 2.0)] == [True, False]


def test_redis_holds_no_token_that_could_be_used_and_nobodys_name(redis_address: str) -> None:
    made = tokens.make()
    redis_book(redis_address).add(token(made.id), made.digest)
    client = redis_client.connect(redis_address, timeout_seconds=2)

    dumped = b"".join(client.dump(key) or b"" for key in client.scan_iter())
    assert made.id.encode() in dumped
    assert all(secret not in dumped for secret in (made.text.encode(), made.digest, made.digest.hex().encode(), b"leo", b"acme"))


def test_a_redis_that_is_away_is_unavailable(tmp_path: Path) -> None:
    away = redis_book(f"unix://{tmp_path}/none.sock")
    for ask in (
        lambda: away.find("t1"),
        away.all,
        lambda: away.add(token(), b""),
        lambda: away.revoke("t1", NOW),
        lambda: away.used("t1", NOW),
        away.ping,
    ):
        with pytest.raises(errors.Unavailable, match="redis"):
            ask()


class Sometimes:
    """A book that is away when it is told to be, and counts how often it is asked."""

    def __init__(self) -> None:
        self.book = in_memory_tokens.InMemoryTokenBook()
        self.away = False
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> object:
        self.asked.append(name)
        if self.away:
            raise errors.Unavailable("redis")
        return getattr(self.book, name)


def test_what_another_process_does_is_known_after_the_next_reading(redis_address: str) -> None:
    here, there = known_tokens.KnownTokens(redis_book(redis_address)), redis_book(redis_address)
    here.renew()

    there.add(token(), b"d")
    assert here.find("t1") is None
    here.renew()
    assert here.find("t1") == ports.StoredToken(token(), b"d")
    there.revoke("t1", NOW)
    here.renew()
    found = here.find("t1")
    assert found is not None
    assert found.token.revoked_at == NOW


def test_looking_a_token_up_asks_nobody() -> None:
    behind = Sometimes()
    known = known_tokens.KnownTokens(behind)  # type: ignore[arg-type]
    known.add(token(), b"d")
    known.renew()
    behind.asked.clear()

    for _ in range(100):
        assert known.find("t1")
        known.used("t1", NOW)
    assert behind.asked == []


def test_what_was_known_goes_on_counting_while_the_book_is_away() -> None:
    behind = Sometimes()
    known = known_tokens.KnownTokens(behind)  # type: ignore[arg-type]
    known.renew()
    known.add(token(), b"d")
    behind.away = True

    with pytest.raises(errors.Unavailable):
        known.renew()
    assert known.find("t1")
    assert known.find("t2") is None
    with pytest.raises(errors.Unavailable):
        known.revoke("t1", NOW)


def test_before_it_was_read_nobody_can_tell() -> None:
    behind = Sometimes()
    behind.away = True
    known = known_tokens.KnownTokens(behind)  # type: ignore[arg-type]
    known.start()
    try:
        with pytest.raises(errors.Unavailable, match="tokens"):
            known.find("t1")
    finally:
        known.stop()


def test_a_use_is_written_down_once_a_minute() -> None:
    behind = Sometimes()
    known = known_tokens.KnownTokens(behind)  # type: ignore[arg-type]
    known.add(token(), b"d")
    for seconds in (0, 1, 30, 59, 61, 62, 120, 121):
        known.used("t1", NOW + seconds)
        known.renew()

    assert behind.asked.count("used") == 3
    assert known.all()[0].token.used_at == NOW + 121


def test_a_reading_that_began_before_a_revocation_does_not_undo_it() -> None:
    book = in_memory_tokens.InMemoryTokenBook()
    known = known_tokens.KnownTokens(book)
    known.add(token(), b"d")
    known.renew()
    reading, go_on = threading.Event(), threading.Event()
    read = book.all

    def slowly() -> list[ports.StoredToken]:
        found = read()
        reading.set()
        assert go_on.wait(10)
        return found

    book.all = slowly  # type: ignore[method-assign]
    renewing = threading.Thread(target=known.renew)
    renewing.start()
    assert reading.wait(10)
    revoking = threading.Thread(target=known.revoke, args=("t1", NOW))
    revoking.start()
    go_on.set()
    renewing.join(10)
    revoking.join(10)

    found = known.find("t1")
    assert found is not None
    assert found.token.revoked_at == NOW
