"""What must be in no file, no key, no log and no metric in clear: the clients' keys, personal data, secrets, and unlearnt words."""

import base64
import contextlib
import json
from collections.abc import Callable, Iterator

import pytest
from harness import CLIENT_KEY, Brb, Person, files_of, until

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
