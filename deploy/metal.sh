#!/usr/bin/env bash
# llama.cpp on a Mac with Metal, which containers there don't have: two servers on the host, for compose.host-llm.yml.
#   deploy/metal.sh up        install or build llama.cpp, fetch the models that models.lock pins, start both servers
#   deploy/metal.sh down      stop them
#   deploy/metal.sh status    whether they answer
# Works on Linux, too. Settings: LLAMA_DIR (where everything is kept), LLAMA_HOST, EMBED_PORT, EXTRACT_PORT,
# LLAMA_SERVER (a llama-server of yours), MODELS_LOCK.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lock=${MODELS_LOCK:-$here/../services/core/models.lock}
home=${LLAMA_DIR:-$HOME/.local/share/brb/llama}
host=${LLAMA_HOST:-127.0.0.1}
embed_port=${EMBED_PORT:-8081}
extract_port=${EXTRACT_PORT:-8082}
start_seconds=${LLAMA_START_SECONDS:-300}

# built when Homebrew is not there
source_url=https://github.com/ggml-org/llama.cpp/archive/refs/tags/b11308.tar.gz
source_sha256=3af8fa61fe0c2dea31f2819e6d7fa4eab7a58cb7dc580f3fe4fb025e2d4d3da6

fail() {
    echo "error: $*" >&2
    exit 1
}

sha256() {
    if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

# pinned MODEL KEY: a value of models.lock
pinned() {
    awk -v model="$1" -v key="$2" '
        /^\[/ { gsub(/[]["]/, ""); here = ($0 == model) }
        here && $1 == key { sub(/^[^=]*= *"/, ""); sub(/"[^"]*$/, ""); print; exit }' "$lock"
}

# fetch URL SHA256 FILE: a file that is not the pinned one is neither kept nor used
fetch() {
    if [ -f "$3" ]; then
        [ "$(sha256 "$3")" = "$2" ] || fail "$3 is not the pinned file: delete it, and try again"
        return
    fi
    # one that is whole, from a run that ended right then, is not asked for again: there is nothing left that could be sent
    if [ ! -f "$3.part" ] || [ "$(sha256 "$3.part")" != "$2" ]; then
        echo "fetching $1"
        curl --fail --location --retry 3 --continue-at - --progress-bar --output "$3.part" "$1" ||
            fail "can't fetch $1: the same again goes on from here; if it doesn't, delete $3.part"
    fi
    if [ "$(sha256 "$3.part")" != "$2" ]; then
        rm -f "$3.part"
        fail "what $1 sent is not the pinned file, and was thrown away"
    fi
    mv "$3.part" "$3"
}

build() {
    command -v cmake >/dev/null || fail "llama.cpp is built with cmake and a C++ compiler: install them (xcode-select --install), or Homebrew, or set LLAMA_SERVER"
    fetch "$source_url" "$source_sha256" "$home/llama.cpp.tar.gz"
    mkdir -p "$home/source"
    tar -xzf "$home/llama.cpp.tar.gz" -C "$home/source" --strip-components 1
    cmake -S "$home/source" -B "$home/build" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DLLAMA_CURL=OFF >"$home/build.log"
    cmake --build "$home/build" --target llama-server --parallel >>"$home/build.log" || fail "llama.cpp was not built: see $home/build.log"
}

# the path of a llama-server, installed or built if there is none
server() {
    local found=${LLAMA_SERVER:-$(command -v llama-server || true)}
    if [ -z "$found" ] && command -v brew >/dev/null; then
        brew install --quiet llama.cpp >&2
        found=$(command -v llama-server || true)
    fi
    if [ -z "$found" ]; then
        found=$home/build/bin/llama-server
        [ -x "$found" ] || build >&2
    fi
    [ -x "$found" ] || fail "$found is no program: set LLAMA_SERVER to a llama-server"
    echo "$found"
}

answers() {
    curl --silent --fail --max-time 2 --output /dev/null "http://$host:$1/health"
}

# the process of a server that was started here; nothing if it is gone
running() {
    local pid command
    pid=$(cat "$home/$1.pid" 2>/dev/null) || return 0
    command=$(ps -ww -o command= -p "$pid" 2>/dev/null) || return 0
    case $command in *"--port $2"*) echo "$pid" ;; esac
}

# start NAME PORT PROGRAM ARGUMENTS...
start() {
    local name=$1 port=$2 pid
    shift 2
    if [ -n "$(running "$name" "$port")" ]; then
        echo "$name: running already"
        return
    fi
    if answers "$port"; then fail "something else answers on port $port: stop it, or choose another port"; fi
    nohup "$@" --host "$host" --port "$port" --metrics --no-slots --no-ui --offline >"$home/$name.log" 2>&1 </dev/null &
    pid=$!
    echo "$pid" >"$home/$name.pid"
    for ((waited = 0; waited < start_seconds * 4; waited++)); do
        if answers "$port"; then
            echo "$name: ready at http://$host:$port"
            return
        fi
        kill -0 "$pid" 2>/dev/null || fail "$name ended at once: see $home/$name.log"
        sleep 0.25
    done
    fail "$name is not ready after $start_seconds s: see $home/$name.log"
}

# stop NAME PORT
stop() {
    local pid
    pid=$(running "$1" "$2")
    rm -f "$home/$1.pid"
    if [ -z "$pid" ]; then
        echo "$1: does not run"
        return
    fi
    kill "$pid"
    for ((waited = 0; waited < 80; waited++)); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.25
    done
    kill -KILL "$pid" 2>/dev/null || true
    echo "$1: stopped"
}

up() {
    local program model
    mkdir -p "$home/models"
    for model in nomic-embed-text-v1.5 Qwen2.5-3B-Instruct; do
        [ -n "$(pinned "$model" sha256)" ] || fail "$lock does not pin $model"
        fetch "$(pinned "$model" url)" "$(pinned "$model" sha256)" "$home/models/$(pinned "$model" file)"
    done
    program=$(server)
    # -c = -b = -ub: a text must fit into one physical batch; one slot: parallel ones have been seen to corrupt embeddings
    start embed "$embed_port" "$program" --model "$home/models/$(pinned nomic-embed-text-v1.5 file)" \
        --embedding --pooling mean -c 2048 -b 2048 -ub 2048 -np 1
    start extract "$extract_port" "$program" --model "$home/models/$(pinned Qwen2.5-3B-Instruct file)" -c 8192 -np 2
}

case ${1:-} in
up) up ;;
down)
    stop embed "$embed_port"
    stop extract "$extract_port"
    ;;
status)
    status=0
    for port in "$embed_port" "$extract_port"; do
        if answers "$port"; then echo "http://$host:$port answers"; else
            echo "http://$host:$port does not answer"
            status=1
        fi
    done
    exit "$status"
    ;;
*) fail "say what to do: deploy/metal.sh up|down|status" ;;
esac
