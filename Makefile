# c2s: `make demo` and `make test` do all set-up themselves, from a fresh clone with Python 3.11.
PYTHON ?= python3.11
PRECISION ?= float32
BIN := .venv/bin
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
SHELL := /bin/bash
# strict: a package that could not be looked up is a failure, not a pass
AUDIT = .venv/audit/bin/pip-audit --strict --no-deps --disable-pip --progress-spinner off --requirement
.DEFAULT_GOAL := help
.PHONY: help setup demo up down test check format bench bench-serve bench-auto bench-issues faults scale shots celery56 images stack load paper audit clean
# the service that these commands start keeps its state here, not in the user's home
export C2S_HOME ?= $(CURDIR)/.c2s
# some containers set it; then each of a thousand processes would compile all of its modules
unexport PYTHONDONTWRITEBYTECODE

help: ## what this file can do
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

setup: .venv/ready ## the virtual environment with pinned dependencies

.venv/ready: pyproject.toml requirements.lock
	@if command -v $(PYTHON) >/dev/null; then python=$(PYTHON); else python=python3; fi; \
	$$python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { echo "c2s needs Python 3.11: make PYTHON=/path/to/python3.11"; exit 1; }; \
	test -x $(BIN)/python || $$python -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[service,train,dev]'
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
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive c2s app worker migrations
	$(BIN)/lint-imports
	$(BIN)/python -m compileall -q c2s app worker migrations  # a process that reads untrusted bytes writes none of its own
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

format: setup ## put the code in order
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup ## speed and memory, as medians of interleaved ratios
	$(BIN)/python tests/bench/pair_loss.py
	$(BIN)/python tests/bench/step.py
	$(BIN)/python tests/bench/throughput.py
	$(BIN)/python tests/bench/throughput_net.py
	$(BIN)/python tests/bench/runtimes.py
	$(BIN)/python tests/bench/startup.py
	$(BIN)/python tests/bench/watching.py
	$(BIN)/python tests/bench/calibration.py

bench-serve: setup .venv/serve/ready ## predictions over HTTP against LitServe, BentoML, a naive endpoint and the floor
	PYTHONPATH=tests:tests/e2e $(BIN)/python tests/bench/serve.py

# an environment of their own; torch as ours, or the newest with CUDA would come along
.venv/serve/ready: requirements.lock
	@test -x .venv/serve/bin/python || $(BIN)/python -m venv .venv/serve
	-.venv/serve/bin/pip install --quiet --disable-pip-version-check --constraint requirements.lock torch==2.13.0 litserve==0.2.19 uvloop httptools safetensors && touch $@
	-.venv/serve/bin/pip install --quiet --disable-pip-version-check torch==2.13.0 bentoml==1.4.39

bench-auto: setup .venv/cleanlab/ready ## how much `method: auto` loses against hindsight, beside fixed choices and cleanlab
	$(BIN)/python tests/bench/auto.py
	$(BIN)/python tests/bench/auto_speed.py

bench-issues: setup .venv/cleanlab/ready ## wrong labels found and put right against gold, beside cleanlab
	PYTHONPATH=tests/bench $(BIN)/python tests/bench/issues.py --seeds $(or $(SEEDS),1) --large

.venv/cleanlab/ready: requirements.lock
	@test -x .venv/cleanlab/bin/python || $(BIN)/python -m venv .venv/cleanlab
	.venv/cleanlab/bin/pip install --quiet --disable-pip-version-check --constraint requirements.lock cleanlab==2.9.0
	@touch $@

faults: setup ## kill, freeze, cut and fill everything while jobs run; prints what became of them
	C2S_TEST_EXAMPLES=300 $(BIN)/python -m pytest tests/app/core/test_life_model.py
	PYTHONPATH=tests $(BIN)/python tests/e2e/matrix.py

scale: setup ## workers on 1, 2 and 4 hosts (network namespaces; needs root), and one of them cut off in the middle of a job
	PYTHONPATH=tests:tests/e2e $(BIN)/python tests/e2e/scale.py

shots: setup ## every page of the dashboard as a picture, in build/shots; needs Chromium
	PYTHONPATH=tests:tests/e2e $(BIN)/python tests/e2e/shots.py build/shots
	PYTHONPATH=tests:tests/e2e $(BIN)/python tests/e2e/shots_review.py build/shots

celery56: setup ## the worker's tests on Celery 5.6.3, which it must run on as well as on the pinned 5.7
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target .venv/celery56 celery==5.6.3 kombu==5.6.2
	PYTHONPATH=$(CURDIR)/.venv/celery56 $(BIN)/python -m pytest tests/worker

images: ## build the images of the API and the worker
	for part in api worker; do docker build --file docker/Dockerfile --target $$part --build-arg VERSION=$(VERSION) --tag c2s-$$part:$(VERSION) . || exit 1; done

stack: setup ## build and run the containers and beat them; needs a container engine
	$(BIN)/python -m pytest tests/docker -v -s -rs

load: setup ## the service under load, on loopback
	PYTHONPATH=tests:tests/e2e $(BIN)/python tests/bench/load.py

paper: setup ## the paper's experiments that the data at hand allow and that nobody has run yet; resumes, prints tables
	$(BIN)/python -m c2s paper --all --precision $(PRECISION) --publish tests/bench/results

audit: ## look every locked package up among the known vulnerabilities; needs the network, so no part of `make test`
	@test -x .venv/audit/bin/pip-audit || { $(PYTHON) -m venv .venv/audit && .venv/audit/bin/pip install --quiet --disable-pip-version-check pip-audit==2.10.1; }
	@echo 'jinja2==2.11.2' >.venv/audit/known  # has holes: a service that does not name them tells nothing about ours either
	@$(AUDIT) .venv/audit/known 2>&1 | grep -q 'CVE-2020-28493\|GHSA-g3rq-g295-4j3m\|PYSEC-2021-66' || { echo "the advisory service cannot be reached: NOTHING was audited"; exit 2; }
	@$(AUDIT) requirements.lock

clean: ## remove what can be made again
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
