"""`llama-server` of the xllamacpp wheel: takes the arguments that docker-compose.yml gives the real one, and refuses all others."""

import argparse
import signal
import threading

import xllamacpp


def parameters(arguments: list[str] | None = None) -> xllamacpp.CommonParams:
    parser = argparse.ArgumentParser(prog="llama-server", allow_abbrev=False)
    parser.add_argument("--model", required=True)
    parser.add_argument("--embedding", action="store_true")
    parser.add_argument("--pooling", choices=["mean"])
    for name in ("-c", "-b", "-ub", "-np", "--port"):
        parser.add_argument(name, type=int)
    parser.add_argument("--host", default="127.0.0.1")
    for switch in ("--metrics", "--no-slots", "--no-ui", "--offline"):
        parser.add_argument(switch, action="store_true")
    given = parser.parse_args(arguments)
    params = xllamacpp.CommonParams()
    params.model.path = given.model
    params.n_ctx, params.n_parallel = given.c, given.np
    params.n_batch, params.n_ubatch = given.b or params.n_batch, given.ub or params.n_ubatch
    params.embedding = given.embedding
    if given.pooling:
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    params.hostnames, params.port = [given.host], given.port
    params.endpoint_metrics, params.endpoint_slots, params.ui, params.offline = given.metrics, not given.no_slots, not given.no_ui, given.offline
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    return params


def main() -> None:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    server = xllamacpp.Server(parameters())
    stop.wait()
    del server


if __name__ == "__main__":
    main()
