"""A team's BRB as it is run: tokens from the command line, two people who don't hear of each other, a restart, a Redis that hangs."""

import json
from collections.abc import Iterator

import anthropic
import pytest
from harness import CLIENT_KEY, Brb, files_of, until

from services.embedded import standin


@pytest.fixture
def team(tmp_path_factory: pytest.TempPathFactory, upstream: standin.StandIn) -> Iterator[Brb]:
    brb = Brb(tmp_path_factory.mktemp("team"), upstream.url, BRB_AUTH="token")
    try:
        brb.start(seconds=300)
        yield brb
    finally:
        brb.close()


def token(brb: Brb, user: str, *options: str) -> str:
    """Made without a token: the command finds the machine's own key."""
    made = brb.command("token", "create", user, "--json", *options)
    assert made.returncode == 0, made.stderr
    return str(json.loads(made.stdout)["token"])


def said(brb: Brb, key: str, words: str, *, prefixed: bool) -> str:
    """One turn with the vendor's own SDK; what the call was told of, by the answer's headers."""
    base = f"{brb.url}/k/{key}" if prefixed else brb.url
    headers = {} if prefixed else {"X-BRB-Key": key}
    http = anthropic.DefaultHttpxClient(trust_env=False)
    with anthropic.Anthropic(base_url=base, api_key=CLIENT_KEY, max_retries=0, default_headers=headers, http_client=http) as client:
        answer = client.messages.with_raw_response.create(model="claude-x", max_tokens=100, messages=[{"role": "user", "content": words}])
        return str(answer.headers.get("x-brb-memories", ""))


def texts(brb: Brb, key: str) -> list[str]:
    return [one["text"] for one in brb.http.get("/memories", headers={"X-BRB-Key": key}).raise_for_status().json()["memories"]]


def test_a_team_shares_one_brb(team: Brb, upstream: standin.StandIn) -> None:
    ana = token(team, "ana", "--team", "acme", "--role", "admin")
    leo, eve = token(team, "leo", "--team", "acme"), token(team, "eve", "--team", "evil")

    # each is told what they said, and nothing of others
    said(team, leo, "My favourite editor is Helix", prefixed=True)
    until(lambda: "Helix" in " ".join(texts(team, leo)) or None, "nothing was learnt")
    assert said(team, leo, "Which editor do I like best?", prefixed=False) == "1"
    assert said(team, eve, "Which editor do I like best?", prefixed=True) == "0"
    assert said(team, ana, "Which editor do I like best?", prefixed=False) == "0"
    assert texts(team, eve) == texts(team, ana) == []

    # a call without a token, or with one that was revoked, does not reach the upstream
    before = len(upstream.recorded)
    for key in ("", "brb_guessed"):
        with pytest.raises(anthropic.AuthenticationError, match="token"):
            said(team, key, "hello", prefixed=False)
    token_id = team.http.get("/whoami", headers={"X-BRB-Key": eve}).json()["token"]
    assert team.command("token", "revoke", token_id, BRB_KEY=ana).returncode == 4  # of another team: not there
    assert team.command("token", "revoke", token_id).returncode == 0
    with pytest.raises(anthropic.AuthenticationError, match="revoked"):
        said(team, eve, "hello", prefixed=True)
    assert len(upstream.recorded) == before

    # what is known goes on counting while Redis hangs, and nobody else gets in
    with team.stopped("redis"):
        assert said(team, leo, "hello again", prefixed=True) in ("", "0")
        with pytest.raises(anthropic.AuthenticationError):
            said(team, eve, "hello", prefixed=True)
    team.healthy()

    # tokens are there after a restart, and those that were revoked stay so
    team.interrupt()
    team.start()
    assert "Helix" in " ".join(texts(team, leo))
    with pytest.raises(anthropic.AuthenticationError, match="revoked"):
        said(team, eve, "hello", prefixed=True)

    # and are in no file, log, metric or call to the upstream
    metrics = team.http.get("/metrics").raise_for_status().text
    assert 'brb_denied_total{reason="revoked"}' in metrics
    held = {**{str(path): content for path, content in files_of(team.folder).items()}, "metrics": metrics.encode()}
    held |= {f"call {n}": repr(one).encode() for n, one in enumerate(upstream.recorded)}
    for key in (ana, leo, eve, "brb_guessed"):
        assert [name for name, content in held.items() if key.encode() in content] == []
