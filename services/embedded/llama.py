"""llama.cpp's own server, out of the xllamacpp wheel, as a process.

`python -m services.embedded.llama --model FILE (--socket PATH | --port N [--host ADDRESS]) [--chat]`
"""

import argparse
import os
import signal
import threading
from pathlib import Path


def serve(model: Path, where: Path | tuple[str, int], *, chat: bool, max_tokens: int, threads: int) -> None:
    """Serve on a unix socket, or on a host and port, until SIGTERM or SIGINT: /v1/embeddings, or with `chat` /v1/chat/completions.

    max_tokens: of one request.

    One slot: batches of parallel slots were seen to corrupt embeddings, and share the context of a chat.
    """
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.n_ctx = max_tokens
    if not chat:
        params.embedding = True
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
        params.n_batch = params.n_ubatch = max_tokens  # an embedding must fit in one physical batch
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    if isinstance(where, Path):
        params.hostnames = [str(where)]
        where.unlink(missing_ok=True)
    else:
        params.hostnames, params.port = [where[0]], where[1]
    params.ui = False
    params.endpoint_slots = False
    params.endpoint_metrics = True
    params.offline = True
    params.verbosity = 0
    previous = os.umask(0o077)
    server = xllamacpp.Server(params)
    os.umask(previous)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    stop.wait()
    del server
    if isinstance(where, Path):
        where.unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--socket", type=Path)
    place.add_argument("--port", type=int)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--chat", action="store_true", help="an instruct model rather than an embedding model")
    parser.add_argument("--max-tokens", type=int, default=512)
    parser.add_argument("--threads", type=int, default=1, help="more wait for each other as soon as something else needs a core")
    options = parser.parse_args()
    listening = options.socket or (options.host, options.port)
    serve(options.model, listening, chat=options.chat, max_tokens=options.max_tokens, threads=options.threads)


if __name__ == "__main__":
    main()
