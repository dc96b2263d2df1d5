# c2s: `make demo` and `make test` do all set-up themselves, from a fresh clone with Python 3.11.
PYTHON ?= python3.11
BIN := .venv/bin
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup demo up down test check format bench faults celery56 load paper clean
# the service that these commands start keeps its state here, not in the user's home
export C2S_HOME ?= $(CURDIR)/.c2s

help: ## what this file can do
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

setup: .venv/ready ## the virtual environment with pinned dependencies

.venv/ready: pyproject.toml requirements.lock
	@if command -v $(PYTHON) >/dev/null; then python=$(PYTHON); else python=python3; fi; \
	$$python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { echo "c2s needs Python 3.11: make PYTHON=/path/to/python3.11"; exit 1; }; \
	test -x $(BIN)/python || $$python -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[service,dev]'
	@touch $@

demo: setup ## learn real digits from labels of which 40 % are wrong, over HTTP; leaves the service running
	$(BIN)/c2s demo

up: setup ## start the service on this machine; Ctrl-C stops it
	$(BIN)/c2s up

down: setup ## stop the service that `make demo` left running
	$(BIN)/c2s down

test: check ## everything that must hold: format, lint, types, import law, tests

check: setup ## the same, under its other name
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n 3 --dist loadfile

format: setup ## put the code in order
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup ## speed and memory, as medians of interleaved ratios
	$(BIN)/python tests/bench/pair_loss.py
	$(BIN)/python tests/bench/step.py
	$(BIN)/python tests/bench/throughput.py
	$(BIN)/python tests/bench/throughput_net.py
	$(BIN)/python tests/bench/startup.py

faults: setup ## kill, freeze, cut and fill everything while jobs run; prints what became of them
	PYTHONPATH=tests $(BIN)/python tests/e2e/matrix.py

celery56: setup ## the worker's tests on Celery 5.6.3, which it must run on as well as on the pinned 5.7
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target .venv/celery56 celery==5.6.3 kombu==5.6.2
	PYTHONPATH=$(CURDIR)/.venv/celery56 $(BIN)/python -m pytest tests/worker

load: setup ## the service under load, on loopback
	PYTHONPATH=tests:tests/e2e $(BIN)/python tests/bench/load.py

paper: setup ## the paper's experiments that the data at hand allow; resumes, prints tables
	$(BIN)/python -m c2s paper --all

clean: ## remove what can be made again
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
