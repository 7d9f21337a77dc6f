"""Answers of an instruct model, held to a JSON schema, from an OpenAI-compatible server: llama.cpp's by HTTP or over a unix socket."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import httpx2
import msgspec

from services.core import errors, telemetry

NAME = "extraction model"
UNNAMED = "default"  # llama.cpp serves one model, by whatever name
CONTEXT_TOKENS = 4096  # of a server that BRB starts; a request is kept well under that
_PING_SECONDS = 1.0
_CONNECT_SECONDS = 3.0
_AWAY = frozenset({429, 502, 503, 504})  # loading, busy, or a gateway before it

Role = Literal["system", "user", "assistant"]


class Reply(NamedTuple):
    """What the model wrote. complete: it came to an end of its own, rather than to the limit of its tokens."""

    text: str
    complete: bool


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]


class ChatModel:
    """The model of the server at `address` (a URL, with or without `/v1`, or the path of a unix socket). Thread-safe; never retries.

    Raises `errors.Unavailable` when the server is away, loading or busy, `errors.Transient` when it broke off or gave no usable answer,
    `errors.SetupError` when it does not take such requests at all.
    """

    def __init__(self, address: str | Path, *, model: str) -> None:
        self._address = str(address)
        self._model = model
        self._http = _client(self._address)
        self._openai: Any = None

    def ask(
        self, talk: Sequence[tuple[Role, str]], schema: Mapping[str, object], *, most_tokens: int, temperature: float, timeout_seconds: float
    ) -> Reply:
        """The model's next message, as JSON of that schema, unless it was cut off."""
        import openai

        self.ping()  # a server that hangs is found out in a second, not at the end of the time for an answer
        started = time.monotonic()
        try:
            answer = self._client().chat.completions.with_raw_response.create(
                model=self._model,
                messages=[{"role": role, "content": _sound(text)} for role, text in talk],
                response_format={"type": "json_schema", "json_schema": {"name": "facts", "strict": True, "schema": schema}},
                max_tokens=most_tokens,
                temperature=temperature,
                extra_headers={"OpenAI-Organization": openai.omit, "OpenAI-Project": openai.omit},  # not those of the environment
                timeout=httpx2.Timeout(timeout_seconds, connect=min(_CONNECT_SECONDS, timeout_seconds)),
            )
            return _reply(answer.http_response.content)
        except openai.APITimeoutError as error:
            raise self._late(error) from None
        except openai.APIConnectionError as error:
            raise self._broken(error) from None
        except openai.APIStatusError as error:
            raise self._refused(error.status_code, str(error.message)) from None
        finally:
            telemetry.LLAMA.labels("extract").observe(time.monotonic() - started)

    def ping(self) -> None:
        """Whether it answers at all and is not loading. llama.cpp has the first address; another server may have neither, and be well."""
        try:
            status = self._http.get("/health", timeout=_PING_SECONDS).status_code
        except httpx2.HTTPError as error:
            raise errors.Unavailable(NAME, "no answer in time" if isinstance(error, httpx2.TimeoutException) else str(error)) from None
        if status in _AWAY:
            raise errors.Unavailable(NAME, f"status {status}")

    def close(self) -> None:
        self._http.close()

    def _client(self) -> Any:
        """Made at the first use, in the process that uses it: importing openai costs half a second and 50 MB."""
        if self._openai is None:
            import openai

            self._openai = openai.OpenAI(
                base_url=f"{str(self._http.base_url).rstrip('/')}/v1",
                api_key="none",
                max_retries=0,
                http_client=self._http,
            )
        return self._openai

    def _late(self, error: Exception) -> errors.Transient:
        """A server that is well but slow may be slow with this request alone: that attempt counts. One that hangs is away."""
        if not isinstance(error.__cause__, httpx2.ConnectTimeout):
            try:
                self.ping()
            except errors.Unavailable as away:
                return away
            return errors.Transient(f"the {NAME} did not answer in time")
        return errors.Unavailable(NAME, "no connection in time")

    def _broken(self, error: Exception) -> errors.Transient:
        """Not reached, or gone in the middle: the latter counts as an attempt, for the request may be what ended it."""
        cause = error.__cause__
        if isinstance(cause, httpx2.ConnectError):
            return errors.Unavailable(NAME, str(cause) or "no connection")
        return errors.Transient(f"the {NAME} broke off: {type(cause or error).__name__}")

    def _refused(self, status: int, message: str) -> errors.BrbError:
        if status in _AWAY:
            return errors.Unavailable(NAME, f"status {status}")
        if status >= 500:
            return errors.Transient(f"the {NAME} failed with status {status}")
        if "context" in message and status in {400, 413}:
            return errors.SetupError(f"the {NAME} at {self._address} has too small a context: start it with -c {CONTEXT_TOKENS}")
        return errors.SetupError(
            f"the server at {self._address} answers a request for facts with status {status}: set BRB_EXTRACT_URL to an OpenAI-compatible server "
            "that takes a JSON schema (llama-server), and BRB_EXTRACT_MODEL to the name of its model"
        )


def _reply(raw: bytes) -> Reply:
    try:
        choice = msgspec.json.decode(raw, type=_Completion).choices[0]
    except (msgspec.DecodeError, IndexError, UnicodeDecodeError):
        raise errors.Transient(f"the {NAME} gave an answer that is no completion") from None
    return Reply(choice.message.content or "", choice.finish_reason == "stop")


def _sound(text: str) -> str:
    """UTF-8 has no lone surrogates, and a client may have sent one."""
    return text.encode(errors="replace").decode()


def _client(address: str) -> httpx2.Client:
    """Without the environment's proxies: nothing but the configured server is to see a text."""
    if address.startswith(("http://", "https://")):
        base = address.rstrip("/").removesuffix("/v1")
        return httpx2.Client(base_url=base, trust_env=False, verify=address.startswith("https://"))
    return httpx2.Client(base_url="http://llama", trust_env=False, transport=httpx2.HTTPTransport(uds=address, verify=False))
