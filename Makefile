# Everything runs in .venv, which is made on demand from the hashed lock files. `make` alone lists the targets.

PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11; do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo "$$name"; break; }; done)
VENV ?= .venv
RUN := $(VENV)/bin/python
TEST_ARGS ?= -n 2
# An environment whose Python has gone is made anew.
$(shell $(RUN) -c '' 2>/dev/null || rm -f $(VENV)/bin/python3 $(VENV)/.runtime $(VENV)/.dev)
.DEFAULT_GOAL := help
.PHONY: help up demo vllm-check test check bench chaos alert-seeds alert-kills lock clean

help:
	@echo "make up      run everything here, in the foreground; Ctrl-C stops it"
	@echo "make demo    send a lively simulated workload to a running instance"
	@echo "make test    every test;  make check  lint, types, contracts, migrations and tests"
	@echo "make bench   the benchmarks;  make chaos  kill processes under load and count what is lost"
	@echo "make alert-seeds  four simulated weeks of alerts a seed;  make alert-kills  kill -9 between evaluating and sending"
	@echo "make lock  resolve the lock files anew;  make clean  remove what was built"

up: $(VENV)/.runtime
	@exec $(RUN) -m dashboard.up

# RATE=60 runs a minute, WITHOUT="cache pool bounded-tools": both reach it by its environment.
demo: $(VENV)/.runtime
	@exec $(RUN) -m agents.demo $(ARGS)

# Does the reference agent work with an engine of yours? docs/real-vllm.md
vllm-check: $(VENV)/.runtime
	@exec $(RUN) -m agents.check_endpoint --url $(URL) $(ARGS)

test: $(VENV)/.dev
	$(RUN) -m pytest tests $(TEST_ARGS)

check: $(VENV)/.dev
	$(RUN) -m ruff check
	$(RUN) -m mypy
	$(VENV)/bin/lint-imports
	@# compares models with files; the warning would be that no database runs
	SIXSTAGE_DATA_DIR=$(VENV)/check $(RUN) -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run
	$(MAKE) test

bench: $(VENV)/.dev
	$(RUN) -m benchmarks $(ARGS)

chaos: $(VENV)/.dev
	$(RUN) -m benchmarks.chaos $(ARGS)

# Four weeks of simulated incidents for each seed; and kill -9 between evaluating, storing and sending.
alert-seeds: $(VENV)/.dev
	ALERT_SEEDS=$(or $(SEEDS),30) $(RUN) -m pytest tests/unit/alerts/test_four_weeks.py $(TEST_ARGS)

alert-kills: $(VENV)/.dev
	ALERT_KILLS=$(or $(KILLS),100) $(RUN) -m pytest tests/integration/alerts/test_killed.py

# Needs uv. Hashes of every platform's wheels, and no registry's address.
lock:
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-header --no-annotate -q --python-version 3.11 \
		pyproject.toml -o requirements.lock
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-header --no-annotate -q --python-version 3.11 --extra dev \
		--extra sdks --extra mcp -c requirements.lock pyproject.toml -o requirements-dev.lock

# The data stays: remove .data by hand if you mean it.
clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps hold the lock that was installed, so that a checkout which touches the files installs nothing again.
$(VENV)/.runtime: requirements.lock
	@$(MAKE) --no-print-directory $(VENV)/bin/python3
	@cmp -s $< $@ || cmp -s requirements-dev.lock $(VENV)/.dev || $(call install,$<)
	@cp $< $@

$(VENV)/.dev: requirements-dev.lock
	@$(MAKE) --no-print-directory $(VENV)/bin/python3
	@cmp -s $< $@ || $(call install,$<)
	@cp $< $@

# Debian's python3 without python3-venv has no ensurepip; its pip, or any other, can fill the environment from outside.
$(VENV)/bin/python3:
	@test -n "$(PYTHON)" || { echo "Sixstage needs Python 3.11 or newer, and none was found as python3," \
		"python3.11, python3.12 or python3.13. Install one, or name it: make up PYTHON=/path/to/python3"; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is not a Python 3.11" \
		"or newer. Name another: make up PYTHON=python3.12"; exit 1; }
	@echo "making $(VENV) with $$("$(PYTHON)" --version)"
	@if "$(PYTHON)" -c 'import ensurepip' 2>/dev/null; then "$(PYTHON)" -m venv $(VENV); \
	else "$(PYTHON)" -m venv --without-pip $(VENV); fi

define install
{ echo "installing $(1), which takes a minute or two the first time"; \
if $(RUN) -m pip --version >/dev/null 2>&1; then pip="$(RUN) -m pip"; \
elif "$(PYTHON)" -m pip --version >/dev/null 2>&1; then pip="$(PYTHON) -m pip --python $(RUN)"; \
elif command -v pip >/dev/null; then pip="pip --python $(RUN)"; \
else echo "there is no pip: install python3-pip or python3-venv"; exit 1; fi; \
$$pip install --quiet --disable-pip-version-check --require-hashes -r $(1); }
endef
