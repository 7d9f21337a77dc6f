import base64

import pytest

from services.proxy.web import sessions
from tests.support import in_memory

NOW = in_memory.NOW


class Clock:
    now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def kept(clock: Clock) -> sessions.Sessions:
    return sessions.Sessions(lambda: "secret", clock)


def sent(kept: sessions.Sessions, session: sessions.Session) -> dict[str, str]:
    return {"cookie": f"other=1; {sessions.COOKIE}={kept.cookie(session, {}).value}; last=2"}


def test_a_session_comes_back_with_its_cookie(kept: sessions.Sessions) -> None:
    session = kept.begin("t1")

    assert kept.read(sent(kept, session)) == session
    assert (session.token_id, session.until) == ("t1", NOW + 12 * 3600)


def test_a_session_ends(kept: sessions.Sessions, clock: Clock) -> None:
    headers = sent(kept, kept.begin("t1"))
    clock.now += sessions.LIFETIME_SECONDS - 1
    assert kept.read(headers)

    clock.now += 1
    assert kept.read(headers) is None


def test_a_cookie_of_another_secret_or_purpose_or_with_a_change_is_none(kept: sessions.Sessions, clock: Clock) -> None:
    from services.core.seal import Seal

    value = str(kept.cookie(kept.begin("t1"), {}).value)
    swapped = value[:40] + ("A" if value[40] != "A" else "B") + value[41:]
    plain = base64.urlsafe_b64encode(b'{"token_id":"t1","until":9e9,"nonce":"x"}').decode()
    elsewhere = str(sessions.Sessions(lambda: "other", clock).cookie(kept.begin("t1"), {}).value)
    job = Seal("secret").close(b'{"token_id":"t1","until":9e9,"nonce":"x"}').decode()
    for wrong in ("", "x", "ü", swapped, plain, elsewhere, job, value[:-4]):
        assert kept.read({"cookie": f"{sessions.COOKIE}={wrong}"}) is None, wrong
    assert kept.read({}) is None
    assert kept.read({"cookie": ";;=\x00"}) is None


def test_each_session_has_a_second_value_of_its_own_that_its_cookie_does_not_tell(kept: sessions.Sessions) -> None:
    one, other = kept.begin("t1"), kept.begin("t1")

    assert one.csrf != other.csrf
    assert len(one.csrf) == 64
    assert one.csrf not in str(kept.cookie(one, {}).value)


@pytest.mark.parametrize(
    ("headers", "secure"),
    [({}, False), ({"x-forwarded-proto": "https"}, True), ({"x-forwarded-proto": "https, http"}, True), ({"x-forwarded-proto": "http"}, False)],
)
def test_the_cookie_is_for_the_page_alone(kept: sessions.Sessions, headers: dict[str, str], secure: bool) -> None:
    header = kept.cookie(kept.begin("t1"), headers).to_header(header="")

    assert "Path=/ui" in header
    assert "HttpOnly" in header
    assert "SameSite=strict" in header
    assert ("Secure" in header) is secure
    assert "Max-Age=43200" in header
    assert "Domain" not in header
    assert "Max-Age=0" in sessions.ended(headers).to_header(header="")


def test_the_page_may_run_and_show_its_own_files_only() -> None:
    policy = dict(part.strip().split(" ", 1) for part in sessions.HEADERS["Content-Security-Policy"].split(";"))

    assert policy["default-src"] == "'none'"
    assert "unsafe" not in str(policy)
    assert "*" not in str(policy)
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert sessions.HEADERS["Referrer-Policy"] == "same-origin"
