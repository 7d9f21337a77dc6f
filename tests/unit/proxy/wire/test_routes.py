"""Which API a call belongs to, which calls are read, and what is asked of an upstream."""

import re
from pathlib import Path

import anthropic
import openai
import pytest

from services.proxy.wire import routes

ANTHROPIC = {"anthropic-version": "2023-06-01", "x-api-key": "sk-ant-x"}
OAUTH = {"anthropic-version": "2023-06-01", "authorization": "Bearer x"}
KEY_ONLY = {"x-api-key": "sk-ant-x"}
OPENAI = {"authorization": "Bearer sk-x"}
NOBODY: dict[str, str] = {}


def paths(package: Path) -> set[bytes]:
    """The paths that an SDK calls, with a name in place of each parameter."""
    sources = [file.read_text() for file in (package / "resources").rglob("*.py")]
    literals = {
        path for source in sources for path in re.findall(r'(?:path_template\(|_(?:get|post|put|patch|delete|get_api_list)\(\s*)f?"(/[^"]+)"', source)
    }
    return {b"/v1/" + re.sub(r"\{[^}]*\}", "a-1", path).removeprefix("/").removeprefix("v1/").partition("?")[0].encode() for path in literals}


@pytest.mark.parametrize(
    ("package", "headers", "vendor"),
    [(anthropic, ANTHROPIC, routes.Vendor.ANTHROPIC), (openai, OPENAI, routes.Vendor.OPENAI)],
    ids=["anthropic", "openai"],
)
def test_every_path_of_an_sdk_goes_to_its_vendor(package: object, headers: dict[str, str], vendor: routes.Vendor) -> None:
    known = paths(Path(str(package.__file__)).parent)  # type: ignore[attr-defined]
    assert len(known) > 50
    assert {path for path in known if routes.vendor(path, headers) is not vendor} == set()


@pytest.mark.parametrize(("package", "vendor"), [(anthropic, routes.Vendor.ANTHROPIC), (openai, routes.Vendor.OPENAI)], ids=["anthropic", "openai"])
def test_a_path_that_only_one_sdk_knows_goes_to_its_vendor_whatever_the_headers(package: object, vendor: routes.Vendor) -> None:
    """A browser, a curl without headers, another vendor's key: `/v1/messages` stays Anthropic's."""
    both = {anthropic: openai, openai: anthropic}
    resource = {p.split(b"/")[2] for p in paths(Path(str(package.__file__)).parent)}  # type: ignore[attr-defined]
    others = {p.split(b"/")[2] for p in paths(Path(str(both[package].__file__)).parent)}  # type: ignore[index]
    assert resource & others == {b"agents", b"files", b"models", b"skills", b"vaults"}
    for name in resource - others:
        assert {routes.vendor(b"/v1/" + name, headers) for headers in (ANTHROPIC, OPENAI, NOBODY)} == {vendor}, name


@pytest.mark.parametrize(
    ("path", "headers", "vendor"),
    [
        (b"/v1/models", ANTHROPIC, "anthropic"),
        (b"/v1/models", OAUTH, "anthropic"),
        (b"/v1/models", KEY_ONLY, "anthropic"),
        (b"/v1/models", OPENAI, "openai"),
        (b"/v1/models", NOBODY, "openai"),
        (b"/v1/models/claude-x", OAUTH, "anthropic"),
        (b"/v1/models/gpt-x", OPENAI, "openai"),
        (b"/v1/files", ANTHROPIC, "anthropic"),
        (b"/v1/files/f-1/content", OPENAI, "openai"),
        (b"/v1/skills", ANTHROPIC, "anthropic"),
        (b"/v1/skills", OPENAI, "openai"),
        (b"/v1/batches", OPENAI, "openai"),
        (b"/v1/batches", ANTHROPIC, "openai"),
        (b"/v1/messages/batches", OPENAI, "anthropic"),
        (b"/v1/messages/count_tokens", OPENAI, "anthropic"),
        (b"/v1/organizations/me", NOBODY, "anthropic"),
        (b"/v1/organization/costs", NOBODY, "openai"),
        (b"/v1/completions", ANTHROPIC, "openai"),
        (b"/v1/complete", OPENAI, "anthropic"),
        (b"/v1/responses/resp_1", NOBODY, "openai"),
        (b"/v1/responses/resp_1/cancel", NOBODY, "openai"),
        (b"/v1/responses/resp_1/input_items", NOBODY, "openai"),
        (b"/v1/conversations/conv_1/items", NOBODY, "openai"),
        (b"/v1/responses/", NOBODY, "openai"),
        (b"/v1/messagesque", OPENAI, "openai"),
        (b"/v1/chatter", ANTHROPIC, "anthropic"),
        (b"/v1/new-thing", ANTHROPIC, "anthropic"),
        (b"/v1/new-thing", OPENAI, "openai"),
        (b"/v1", ANTHROPIC, "anthropic"),
        (b"/v1/", OPENAI, "openai"),
    ],
)
def test_where_both_have_a_path_the_clients_headers_tell(path: bytes, headers: dict[str, str], vendor: str) -> None:
    assert routes.vendor(path, headers) == vendor


@pytest.mark.parametrize(
    ("method", "path", "route"),
    [
        ("POST", b"/v1/messages", "messages"),
        ("GET", b"/v1/messages", "other"),
        ("POST", b"/v1/messages/", "other"),
        ("POST", b"/v1/messages/count_tokens", "count_tokens"),
        ("POST", b"/v1/messages/batches", "other"),
        ("POST", b"/v1/chat/completions", "chat_completions"),
        ("GET", b"/v1/chat/completions", "other"),
        ("POST", b"/v1/chat/completions/", "other"),
        ("POST", b"/v1/chat/completions/chatcmpl-1", "other"),
        ("POST", b"/v1/completions", "other"),
        ("POST", b"/v1/responses", "responses"),
        ("GET", b"/v1/responses", "other"),
        ("GET", b"/v1/responses/resp_1", "other"),
        ("POST", b"/v1/responses/resp_1/cancel", "other"),
        ("POST", b"/v1/responses/compact", "other"),
        ("POST", b"/v1/responses/input_tokens", "other"),
        ("POST", b"/V1/responses", "other"),
        ("HEAD", b"/", "probe"),
        ("HEAD", b"/api/hello", "probe"),
        ("GET", b"/", "other"),
        ("HEAD", b"/v1/models", "other"),
    ],
)
def test_only_posted_conversations_are_read(method: str, path: bytes, route: str) -> None:
    assert routes.route(method, path) == route
    assert routes.Route(route).holds_conversation is (route in ("messages", "chat_completions", "responses"))


@pytest.mark.parametrize(
    ("base_url", "asked", "expected"),
    [
        ("https://api.openai.com", b"/v1/chat/completions", b"/v1/chat/completions"),
        ("https://api.openai.com/", b"/v1/chat/completions", b"/v1/chat/completions"),
        ("https://api.openai.com/v1", b"/v1/chat/completions", b"/v1/chat/completions"),
        ("https://api.openai.com/v1/", b"/v1/chat/completions", b"/v1/chat/completions"),
        ("http://localhost:11434/v1", b"/v1/models", b"/v1/models"),
        ("http://localhost:11434", b"/v1/models", b"/v1/models"),
        ("https://team.openai.azure.com/openai/v1", b"/v1/responses?api-version=preview", b"/openai/v1/responses?api-version=preview"),
        ("https://team.openai.azure.com/openai/v1", b"/v1?x=1", b"/openai/v1?x=1"),
        ("https://team.openai.azure.com/openai/v1", b"/v1", b"/openai/v1"),
        ("https://api.groq.com/openai/v1", b"/v1/responses/resp_1/input_items?limit=2", b"/openai/v1/responses/resp_1/input_items?limit=2"),
        ("https://api.z.ai/api/paas/v4", b"/v1/chat/completions", b"/api/paas/v4/chat/completions"),
        ("https://host/v1beta/openai", b"/v1/chat/completions", b"/v1beta/openai/chat/completions"),
        ("https://host/llm", b"/v1/messages?beta=true", b"/llm/v1/messages?beta=true"),
        ("https://host/api/v1", b"/v1/messages?beta=true", b"/api/v1/messages?beta=true"),
        ("https://host/vllm", b"/v1/models", b"/vllm/v1/models"),
        ("https://host/team-v1", b"/v1/models", b"/team-v1/v1/models"),
        ("https://host/v1", b"/v1/v1/x", b"/v1/v1/x"),
        ("https://host/v1", b"/v1x", b"/v1/v1x"),
        ("https://host/v1", b"/v1/files/a%2Fb?x=%7E", b"/v1/files/a%2Fb?x=%7E"),
        ("https://host/a%20b/v1", b"/v1/models", b"/a%20b/v1/models"),
    ],
)
def test_a_base_url_is_written_with_or_without_its_version(base_url: str, asked: bytes, expected: bytes) -> None:
    assert routes.target(base_url, asked) == expected


@pytest.mark.parametrize(
    ("spelt", "target", "authority"),
    [
        (b"/v1/messages", b"/v1/messages", None),
        (b"/v1/messages?to=http://host/x", b"/v1/messages?to=http://host/x", None),
        (b"//host/v1/messages", b"//host/v1/messages", None),
        (b"*", b"*", None),
        (b"http://host/v1/messages?beta=true", b"/v1/messages?beta=true", b"host"),
        (b"HTTPS://Host:8443/v1/a%2Fb", b"/v1/a%2Fb", b"Host:8443"),
        (b"http://leo:p@ss@host/v1", b"/v1", b"host"),
        (b"http://[::1]:3000/v1", b"/v1", b"[::1]:3000"),
        (b"http://host", b"/", b"host"),
        (b"http://host?x=1", b"/?x=1", b"host"),
        (b"http:///v1", b"/v1", b""),
        (b"ftp://host/v1", b"ftp://host/v1", None),
    ],
)
def test_a_target_is_read_in_any_form(spelt: bytes, target: bytes, authority: bytes | None) -> None:
    assert routes.asked(spelt) == (target, authority)


@pytest.mark.parametrize(
    ("target", "repeats"),
    [
        (b"/v1/v1/messages", True),
        (b"/v1/v1", True),
        (b"/v1/v1?x", True),
        (b"/v1/messages", False),
        (b"/v1/v1x", False),
        (b"/v1", False),
        (b"/v1/x/v1/", False),
    ],
)
def test_a_version_that_stands_twice_is_noticed(target: bytes, repeats: bool) -> None:
    assert routes.repeats_version(target) is repeats
