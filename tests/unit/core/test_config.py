"""Settings: what is refused, and with which words."""

import shutil
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import redis

from services.core import config, errors
from services.core.adapters import celery_queue


@pytest.fixture(autouse=True)
def _no_dotenv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in __import__("os").environ if name.startswith("BRB_")]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("BRB_HOST", "0.0.0.0", "BRB_AUTH=off listens on loopback only"),  # noqa: S104
        ("BRB_PORT", "70000", "BRB_PORT: "),
        ("BRB_PORT", "http", "BRB_PORT: "),
        ("BRB_ANTHROPIC_URL", "api.anthropic.com", "BRB_ANTHROPIC_URL: must be an address"),
        ("BRB_ANTHROPIC_URL", "http://", "BRB_ANTHROPIC_URL: must be an address"),
        ("BRB_ANTHROPIC_URL", "http://leo:pw@host", "BRB_ANTHROPIC_URL: must not hold a user name or password"),
        ("BRB_OPENAI_URL", "http://host:99999", "BRB_OPENAI_URL: "),
        ("BRB_OPENAI_URL", "http://host:port", "BRB_OPENAI_URL: "),
        ("BRB_OPENAI_URL", "http://host:0", "BRB_OPENAI_URL: must be an address"),
        ("BRB_OPENAI_URL", "http://host/v1?api-version=1", "BRB_OPENAI_URL: must be an address without a query"),
        ("BRB_OPENAI_URL", "http://host/a b", "BRB_OPENAI_URL: must be an address without a query, a fragment or blanks"),
        ("BRB_OPENAI_URL", "http://localhost:3000/v1", "BRB_OPENAI_URL is BRB itself"),
        ("BRB_ANTHROPIC_URL", "http://127.0.0.1:3000", "BRB_ANTHROPIC_URL is BRB itself"),
        ("BRB_OPENAI_URL", "https://host/v1/chat/completions", "leave /chat/completions off its end"),
        ("BRB_ANTHROPIC_URL", "https://host/v1/messages/", "BRB_ANTHROPIC_URL: must be the address that all calls have in common"),
        ("BRB_PORT", "0", "BRB_PORT: "),
        ("BRB_DEDUP_THRESHOLD", "2", "BRB_DEDUP_THRESHOLD: "),
        ("BRB_LOG_LEVEL", "loud", "BRB_LOG_LEVEL: "),
    ],
)
def test_a_wrong_setting_is_one_line_that_names_it(monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(errors.SetupError) as caught:
        config.load()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_dotenv_file_is_read_and_the_environment_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("BRB_PORT=4000\nBRB_MAX_MEMORIES=3\nOTHER=1\n")
    monkeypatch.setenv("BRB_PORT", "5000")
    settings = config.load()
    assert (settings.port, settings.max_memories) == (5000, 3)


def test_blanks_around_an_address_are_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRB_OPENAI_URL", " http://localhost:11434/v1/ ")
    assert config.load().openai_url == "http://localhost:11434/v1"


@pytest.mark.parametrize("url", ["http://host", "http://host/v1", "http://host/openai/v1", "http://host/models/v1"])
def test_an_upstream_is_named_with_or_without_its_version(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("BRB_ANTHROPIC_URL", url)
    monkeypatch.setenv("BRB_OPENAI_URL", f"{url}/")
    assert (config.load().anthropic_url, config.load().openai_url) == (url, url)


def test_an_empty_value_means_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRB_REDIS_URL", "")
    assert config.load().redis_url is None


def test_secrets_are_masked_in_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRB_SECRET_KEY", "zebra")
    monkeypatch.setenv("BRB_REDIS_URL", "redis://:zebra@host/0")
    assert "zebra" not in repr(config.load())


def test_sockets_move_out_of_a_folder_whose_path_is_too_long(tmp_path: Path) -> None:
    short, long = config.Settings(data_dir=Path("/tmp/d")), config.Settings(data_dir=tmp_path / ("x" * 120))
    assert short.run_dir == Path("/tmp/d/run")
    assert len(str(long.redis_socket)) < 100
    assert long.run_dir != config.Settings(data_dir=tmp_path / ("y" * 120)).run_dir


@pytest.mark.parametrize(("host", "url"), [("127.0.0.1", "http://127.0.0.1:3000"), ("::1", "http://[::1]:3000")])
def test_the_base_url_is_one_that_clients_can_use(host: str, url: str) -> None:
    assert config.Settings(host=host).base_url == url


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "rules"),
        ({"extract_url": "http://h:1"}, "both"),
        ({"extract_model": "/m.gguf"}, "both"),
        ({"extractor": "rules", "extract_url": "http://h:1"}, "rules"),
        ({"extractor": "llm", "extract_model": "/m.gguf"}, "llm"),
        ({"extractor": "both", "extract_url": "http://h:1"}, "both"),
    ],
)
def test_a_language_model_reads_turns_where_there_is_one(given: dict[str, Any], expected: str) -> None:
    assert config.Settings(**given).engines == expected


@pytest.mark.parametrize("extractor", ["llm", "both"])
def test_a_language_model_that_is_asked_for_must_be_named(extractor: str) -> None:
    with pytest.raises(errors.SetupError, match="BRB_EXTRACT_URL"):
        config.load(extractor=extractor)


def test_a_secret_can_come_from_a_file_and_one_that_is_set_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("of the file\n")
    (tmp_path / ".env").write_text(f"BRB_QDRANT_API_KEY_FILE={tmp_path / 'secret'}\n")
    monkeypatch.setenv("BRB_SECRET_KEY_FILE", str(tmp_path / "secret"))
    monkeypatch.setenv("BRB_KEY_FILE", str(tmp_path / "secret"))
    monkeypatch.setenv("BRB_KEY", "itself")
    monkeypatch.setenv("BRB_HOST_FILE", str(tmp_path / "secret"))
    settings = config.load()

    shown = [secret.get_secret_value() if secret else None for secret in (settings.secret_key, settings.qdrant_api_key, settings.key)]
    assert shown == ["of the file", "of the file", "itself"]
    assert settings.host == "127.0.0.1", "it is no secret"


def test_a_secret_file_that_cant_be_read_is_one_line_that_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRB_SECRET_KEY_FILE", str(tmp_path / "none"))
    with pytest.raises(errors.SetupError, match=r"BRB_SECRET_KEY_FILE: .*none can't be read: No such file"):
        config.load()


@pytest.mark.parametrize(
    ("url", "password", "address"),
    [
        ("redis://redis:6379/0", "a/b@c", "redis://:a%2Fb%40c@redis:6379/0"),
        ("redis://:own@redis:6379/0", "x", "redis://:own@redis:6379/0"),
        ("redis://redis:6379", None, "redis://redis:6379"),
        ("unix:///run/redis.sock", "x", "unix://:x@/run/redis.sock"),
    ],
)
def test_the_password_of_redis_joins_an_address_that_has_none(url: str, password: str | None, address: str) -> None:
    assert config.load(redis_url=url, redis_password=password).redis_address == address


def test_only_who_vouches_for_the_port_may_listen_everywhere_without_tokens() -> None:
    everywhere = "0.0.0.0"  # noqa: S104
    with pytest.raises(errors.SetupError, match="loopback only"):
        config.load(host=everywhere)
    settings = config.load(host=everywhere, published_on_loopback=True)
    assert settings.base_url == "http://127.0.0.1:3000", "what listens everywhere is called by loopback"


def test_the_runtime_folder_can_be_elsewhere(tmp_path: Path) -> None:
    assert config.load(data_dir=tmp_path / "data", runtime_dir=tmp_path / "run").metrics_dir == tmp_path / "run" / "metrics"
    assert config.load(data_dir=tmp_path / "data").run_dir == tmp_path / "data" / "run"


DAYS = sorted(name for name, field in config.Settings.model_fields.items() if name.endswith("_days") and field.annotation is int)


@pytest.mark.parametrize("name", DAYS)
@pytest.mark.parametrize("days", ["-1", "1000000000000000", "9" * 400, "1e400", "nan", "soon"])
def test_an_age_limit_that_nothing_can_be_kept_by_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, days: str) -> None:
    """Redis refuses to keep anything for so long: no turn was recorded any more."""
    monkeypatch.setenv(f"BRB_{name.upper()}", days)
    with pytest.raises(errors.SetupError, match=f"BRB_{name.upper()}"):
        config.load()


@pytest.mark.parametrize(("name", "value"), [("ledger_days", "0"), ("lease_seconds", "0"), ("lease_seconds", "inf"), ("max_body_bytes", "0")])
def test_what_nothing_works_with_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"BRB_{name.upper()}", value)
    with pytest.raises(errors.SetupError, match=f"BRB_{name.upper()}"):
        config.load()


def test_a_data_folder_may_have_any_name(tmp_path: Path) -> None:
    settings = config.Settings(data_dir=tmp_path / "a b#c%20?d")
    with closing(redis.Redis.from_url(settings.redis_address)) as client:
        assert client.connection_pool.connection_kwargs["path"] == str(settings.redis_socket)
    with celery_queue.create_celery(settings, "test").connection_for_write() as connection:
        assert connection.as_uri() == f"redis+socket://{settings.redis_socket}"


def test_counters_without_room_are_told_of_before_they_end_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config.check_room(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=999_999))
    with pytest.raises(errors.SetupError, match="no room for counters"):
        config.check_room(tmp_path)


@pytest.mark.parametrize(
    ("given", "processes"),
    [
        ({}, 1),
        ({"extract_url": "http://h:1"}, 2),
        ({"extractor": "llm", "extract_url": "http://h:1"}, 1),
        ({"extract_url": "http://h:1", "worker_processes": 4}, 4),
    ],
)
def test_a_worker_has_a_process_for_a_language_model_beside_the_rules(given: dict[str, Any], processes: int) -> None:
    assert config.Settings(**given).processes == processes
