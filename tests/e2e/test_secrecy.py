"""What must be in no file, no key, no log and no metric in clear: the clients' keys, personal data, secrets, and unlearnt words."""

import base64
import contextlib
import json
import signal
import socket
from collections.abc import Callable, Iterator

import httpx2
import psutil
import pytest
from harness import CLIENT_KEY, Brb, Person, files_of, scripted, until

from services.core import seal
from services.embedded import standin

New = Callable[..., Person]

PRIVATE = {
    "e-mail": "maria.gonzalez+work@mail.example.org",
    "phone": "+49 30 90182077",
    "US phone": "(415) 867-5309",
    "card": "4111 1111 1111 1111",
    "IBAN": "DE89 3704 0044 0532 0130 00",
    "SSN": "521-44-9382",
    "IPv4": "203.0.113.77",
    "IPv6": "2001:db8:85a3::8a2e:370:7334",
    "street address": "1600 Amphitheatre Parkway",
    "Anthropic key": "sk-ant-api03-" + "Zq3x" * 23 + "WAA",
    "OpenAI key": "sk-proj-" + "Ab3dEf6h" * 6 + "T3BlbkFJ" + "Gh1jKl4m" * 6,
    "GitHub token": "ghp_" + "a1B2c3D4e5F6" * 3,
    "GitLab token": "glpat-" + "x9Y8z7W6v5U4t3S2r1Q0",
    "Slack token": "xoxb-" + "123456789012-1234567890123-" + "AbCdEfGhIjKlMnOpQrStUvWx",
    "AWS key": "AKIA" + "QYLPMN5HHHFPZAM2",
    "Google key": "AIza" + "SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
    "Stripe key": "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "Hugging Face token": "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh",
    "JWT": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "PEM": "MIIEpAIBAAKCAQEAwmrhx9AaBZqrAn4pB3lCEkR7yQ3bZ1YV",
    "password": "correct-Horse!battery7",
}
SPOKEN = (
    f"I prefer EDITOR and you can reach me at {PRIVATE['e-mail']} or {PRIVATE['phone']}. My office line is {PRIVATE['US phone']}. "
    f"My card is {PRIVATE['card']}, my IBAN is {PRIVATE['IBAN']} and my SSN is {PRIVATE['SSN']}. Our bastion is {PRIVATE['IPv4']}, or "
    f"{PRIVATE['IPv6']}. I live at {PRIVATE['street address']}, Mountain View, CA 94043. My password is {PRIVATE['password']}. "
    f"Our deploy key is {PRIVATE['Anthropic key']}, the fallback is {PRIVATE['OpenAI key']}. "
    + " ".join(f"Our {kind} is {PRIVATE[kind]}." for kind in list(PRIVATE)[11:19])
    + f"\n-----BEGIN RSA PRIVATE KEY-----\n{PRIVATE['PEM']}\n-----END RSA PRIVATE KEY-----\n"
)
UNLEARNT = "quokkazanzibar"


def spellings(secret: str) -> Iterator[bytes]:
    """As it is, escaped in JSON, and in base64 at each of the three alignments."""
    raw = secret.encode()
    yield raw
    yield json.dumps(secret)[1:-1].encode()
    for shift in range(3):
        inner = base64.b64encode(b"\0" * shift + raw)
        yield inner[-(-8 * shift // 6) : len(inner) - 4]


def everything_kept(brb: Brb) -> Iterator[tuple[str, bytes]]:
    """All that BRB holds: files, keys and values of Redis where it answers, metrics, and what its own routes show."""
    for path, content in files_of(brb.data).items():
        yield str(path.relative_to(brb.data)), content
    yield "up.log", (brb.folder / "up.log").read_bytes()
    with contextlib.closing(brb.redis()) as connection:
        for key in connection.scan_iter():
            yield f"key {key!r}", key + (connection.dump(key) or b"")
    for route in ("/metrics", "/memories?status=all", "/health", "/jobs"):
        yield route, brb.http.get(route).content


def kept_in_clear(brb: Brb, secrets: dict[str, str]) -> set[tuple[str, str]]:
    kept = list(everything_kept(brb))
    assert any(name.endswith(".aof") for name, _ in kept)
    return {(kind, name) for name, content in kept for kind, secret in secrets.items() if any(s in content for s in spellings(secret))}


def test_the_search_would_find_a_secret() -> None:
    for secret in PRIVATE.values():
        for shift in range(3):
            content = base64.b64encode(b"x" * shift + secret.encode() + b"tail of it")
            assert any(spelling in content for spelling in spellings(secret))


def test_personal_data_and_secrets_are_nowhere_in_clear(brb: Brb, person: New) -> None:
    said = person().say(SPOKEN.replace("EDITOR", "Neovim"))
    assert PRIVATE["password"].encode() in said.received  # on its way to the upstream nothing is changed
    brb.worked_off(said.turn)
    memory = brb.memory("Neovim")
    assert "Neovim" in " ".join(evidence.quote for evidence in memory.evidence)
    assert kept_in_clear(brb, PRIVATE) == set()


def test_a_job_that_waits_in_redis_holds_nothing_in_clear(brb: Brb, person: New) -> None:
    with brb.stopped("worker"):
        said = person().say(f"{SPOKEN.replace('EDITOR', 'Kakoune')} And does the {UNLEARNT} parser keep comments?")
        until(lambda: brb.health().pending["learn"] or None, "no job was recorded")
        assert kept_in_clear(brb, PRIVATE | {"words": UNLEARNT, "statement": "I prefer Kakoune"}) == set()
    brb.worked_off(said.turn, 60)


def test_a_job_that_waits_in_the_spool_holds_nothing_in_clear(brb: Brb, person: New) -> None:
    with brb.stopped("redis"):
        person().say(f"{SPOKEN.replace('EDITOR', 'Acme')} And why does the {UNLEARNT} lexer skip blanks?")
        until(lambda: brb.health().spooled or None, "no job was spooled")
        files = files_of(brb.data)
        assert any("spool" in path.name for path in files)
        secrets = PRIVATE | {"words": UNLEARNT, "statement": "I prefer Acme"}
        found = {
            (kind, path.name) for path, content in files.items() for kind, secret in secrets.items() if any(s in content for s in spellings(secret))
        }
        assert found == set()
    brb.memory("Acme", 60)


def test_words_that_are_not_learnt_are_in_no_file(brb: Brb, person: New) -> None:
    said = person().say(f"How does the {UNLEARNT} tokenizer treat a {UNLEARNT}?")
    brb.worked_off(said.turn)
    assert kept_in_clear(brb, {"words": UNLEARNT}) == set()


def test_the_key_of_the_client_reaches_the_upstream_and_nothing_else(brb: Brb, person: New, upstream: object) -> None:
    person().say("My keyboard is a Planck.")
    brb.memory("Planck")
    assert any(CLIENT_KEY in value for _, value in upstream.recorded[-1].headers)  # type: ignore[attr-defined]
    assert kept_in_clear(brb, {"key": CLIENT_KEY}) == set()


# Credentials, in every form in which clients send them, at BRB's most talkative

CREDENTIALS = {
    "API key": "sk-ant-api03-" + "Ck7w" * 23 + "KAA",
    "OAuth token": "sk-ant-oat01-" + "Ot5z" * 23 + "TAA",
    "helper key": "helper-made-9f8e7d6c5b4a",
    "OpenAI project key": "sk-proj-" + "Pk2vQ9xL" * 6 + "T3BlbkFJ" + "Zm4nB7cV" * 6,
    "token among the betas": "oauth-tok-Bt8Yk3Wq5Nz1",
    "key in the query": "Qk6Jh2Mv9Xs4Pd7",
    "cookie": "Ce1Rg5Tb8Uj2Lf6",
    "key of BRB": "brb_Xk4Hs7Nq2Zw9",
    "header of the gateway": "Gw3Vd6Yk1Sx8Ap5",
    "cookie of the upstream": "Su9Fm4Kc7Wj2Hr6",
}
BETAS = {"anthropic-beta": f"claude-code-20250219,{CREDENTIALS['token among the betas']},context-1m"}
COMMON = {
    "content-type": "application/json",
    "cookie": f"sid={CREDENTIALS['cookie']}",
    "x-brb-key": CREDENTIALS["key of BRB"],
    "x-gateway-token": CREDENTIALS["header of the gateway"],
    **BETAS,
}
FORMS = {
    "API key": {"x-api-key": CREDENTIALS["API key"]},
    "OAuth token": {"authorization": f"Bearer {CREDENTIALS['OAuth token']}"},
    "helper key": {"x-api-key": CREDENTIALS["helper key"], "authorization": f"Bearer {CREDENTIALS['helper key']}"},
    "OpenAI project key": {"authorization": f"Bearer {CREDENTIALS['OpenAI project key']}", "openai-organization": "org-x"},
}
PATHS = ["/v1/messages", "/v1/chat/completions", "/v1/responses", "/v1/messages/count_tokens", "/v1/files", "/v1/models/x"]
BREAKFAST = "My breakfast is porridge."


@pytest.fixture(scope="module")
def talkative(tmp_path_factory: pytest.TempPathFactory, upstream_server: standin.StandIn) -> Iterator[Brb]:
    """A BRB that logs all it can."""
    brb = Brb(tmp_path_factory.mktemp("talkative"), upstream_server.url, BRB_OPENAI_URL=upstream_server.url, BRB_LOG_LEVEL="debug")
    try:
        brb.start(seconds=300)
        yield brb
    finally:
        brb.close()


def called(brb: Brb, path: str, form: dict[str, str], session: str = "s", **script: object) -> httpx2.Response:
    """A call with every credential on it."""
    script["headers"] = {"set-cookie": f"sid={CREDENTIALS['cookie of the upstream']}"}
    said = [{"role": "user", "content": BREAKFAST}]
    body = {"model": "m", "max_tokens": 99, "stream": True, "input" if path == "/v1/responses" else "messages": said}
    url = f"{path}?beta=true&key={CREDENTIALS['key in the query']}"
    return brb.http.post(url, json=body, headers={**COMMON, **form, **scripted(**script), "x-claude-code-session-id": session})


def logged(brb: Brb) -> bytes:
    return (brb.folder / "up.log").read_bytes() + b"".join(content for path, content in files_of(brb.data).items() if path.suffix == ".log")


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_credentials_reach_the_upstream_and_nothing_else(talkative: Brb, upstream: standin.StandIn, form: dict[str, str]) -> None:
    for path in PATHS:
        assert called(talkative, path, form).status_code == 200
        received = dict(upstream.recorded[-1].headers)
        assert {name: received.get(name) for name in {**form, **BETAS}} == {**form, **BETAS}
        assert "x-brb-key" not in received
        assert CREDENTIALS["key in the query"] in upstream.recorded[-1].path
    talkative.idle()
    assert b'"relayed"' in logged(talkative)
    assert kept_in_clear(talkative, CREDENTIALS) == set()


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("script", [{"status": 401}, {"status": 529}, {"cut_after_chunks": 2}, {"chunks": ["event: error\n\n"]}], ids=str)
def test_credentials_of_calls_that_the_upstream_fails_are_nowhere(talkative: Brb, form: dict[str, str], script: dict[str, object]) -> None:
    for path in PATHS:
        with contextlib.suppress(httpx2.RemoteProtocolError):
            called(talkative, path, form, **script)
    assert kept_in_clear(talkative, CREDENTIALS) == set()


def test_credentials_of_calls_without_an_upstream_are_nowhere(talkative: Brb, upstream: standin.StandIn) -> None:
    with upstream.away():
        answers = [called(talkative, path, form) for path in PATHS for form in FORMS.values()]
    assert {answer.status_code for answer in answers} == {502}
    shown = b"".join(answer.content + str(answer.headers).encode() for answer in answers)
    assert not [kind for kind, secret in CREDENTIALS.items() if secret.encode() in shown]
    assert kept_in_clear(talkative, CREDENTIALS) == set()


def test_credentials_of_calls_on_which_memory_fails_are_nowhere(talkative: Brb) -> None:
    """What the ledger holds is no entry of a ledger."""
    for form in FORMS.values():
        called(talkative, "/v1/messages", form, session="broken")
    talkative.idle()
    with contextlib.closing(talkative.redis()) as redis:
        keys = list(redis.scan_iter("brb:ledger:*"))
        assert keys
        for key in keys:
            redis.set(key, seal.Seal(seal.secret_of(talkative.settings)).close(b"not an entry"))
    before = logged(talkative).count(b"_failed")
    for form in FORMS.values():
        assert called(talkative, "/v1/messages", form, session="broken").status_code == 200
    assert logged(talkative).count(b"_failed") > before
    assert kept_in_clear(talkative, CREDENTIALS) == set()


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: %b\r\nbroken line\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: %b\0\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: %b\r\ncontent-length: x\r\n\r\n",
        b"POST /v1/messages?key=%b HTTP/9.9\r\nhost: 127.0.0.1\r\n\r\n",
        b"BREW /v1/messages?key=%b HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"GET /k/%b/v1/nowhere HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n",
        b"GET /health?key=%b HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n",
        b"GET /v1/models?key=%b HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: x\r\n\r\n",
    ],
)
def test_credentials_of_requests_that_are_refused_are_nowhere(talkative: Brb, request_bytes: bytes) -> None:
    answer = b""
    with socket.create_connection(("127.0.0.1", talkative.port), timeout=10) as connection:
        connection.sendall(request_bytes.replace(b"%b", CREDENTIALS["API key"].encode()))
        connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError):
            while piece := connection.recv(65536):
                answer += piece
    assert CREDENTIALS["API key"].encode() not in answer
    assert kept_in_clear(talkative, CREDENTIALS) == set()


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV, signal.SIGKILL])
def test_credentials_and_words_of_calls_during_which_brb_is_killed_are_nowhere(
    talkative: Brb, upstream: standin.StandIn, number: signal.Signals
) -> None:
    """Nor in what a crash leaves behind."""
    secrets = CREDENTIALS | PRIVATE | {"words": UNLEARNT}
    words = f"{SPOKEN.replace('EDITOR', 'Helix')} And how does the {UNLEARNT} linker work?"
    body = {"model": "m", "max_tokens": 99, "stream": True, "messages": [{"role": "user", "content": words}]}
    headers = {**COMMON, **FORMS["helper key"], **scripted(chunk_delay_ms=200, text="one two three four five six seven")}
    with talkative.http.stream("POST", f"/v1/messages?key={CREDENTIALS['key in the query']}", json=body, headers=headers) as answer:
        pieces = answer.iter_raw()
        next(pieces)
        for process in talkative.tree("proxy"):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        with contextlib.suppress(httpx2.TransportError):
            list(pieces)
    talkative.healthy()
    assert kept_in_clear(talkative, secrets) == set()


def test_nothing_is_in_clear_after_all_of_brb_was_killed_and_started_again(talkative: Brb) -> None:
    for path in PATHS:
        called(talkative, path, FORMS["helper key"])
    talkative.kill()
    talkative.start()
    talkative.idle()
    assert kept_in_clear(talkative, CREDENTIALS | PRIVATE | {"words": UNLEARNT}) == set()


# Who is let in


def test_brb_listens_on_loopback_alone_and_is_connected_to_loopback_alone(brb: Brb, person: New) -> None:
    person().say("My dog is called Eizo.")
    brb.memory("Eizo")
    connections = [connection for process in brb.everything() for connection in process.net_connections("inet")]
    assert {connection.laddr.port for connection in connections if connection.status == "LISTEN"} == {brb.port}
    assert {connection.laddr.ip for connection in connections} == {"127.0.0.1"}
    assert {connection.raddr.ip for connection in connections if connection.raddr} <= {"127.0.0.1"}


@pytest.mark.parametrize("path", ["/memories", "/metrics", "/health"])
def test_a_page_of_another_site_is_refused(brb: Brb, path: str) -> None:
    assert brb.http.get(path, headers={"host": "evil.example:3000"}).status_code == 403
    assert brb.http.get(path, headers={"origin": "https://evil.example", "sec-fetch-site": "cross-site"}).status_code == 403
