# Everything a person or CI does with this checkout. `make help` lists it.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
export PYTHON
export SLUICE_CACHE_DIR ?= $(HOME)/.cache/sluice
.DEFAULT_GOAL := help
.PHONY: help setup test test-fast lint types demo run telegraf timescaledb lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(VENV)/.installed-dev ## prepare .venv from the lock file (quick when up to date)

$(VENV)/.installed-run: requirements.txt pyproject.toml scripts/setup
	@scripts/setup requirements.txt
	@touch $@

$(VENV)/.installed-dev: requirements-dev.txt pyproject.toml scripts/setup
	@scripts/setup requirements-dev.txt
	@touch $(VENV)/.installed-run $@

run: $(VENV)/.installed-run ## start everything below one data directory; Ctrl-C stops it
	@$(BIN)/sluice run $(ARGS)

demo: $(VENV)/.installed-run ## play the main job once on real input and print the verdicts
	@$(BIN)/sluice demo $(ARGS)

lint: setup ## ruff, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: setup ## mypy, strict on the cores and the agent
	$(BIN)/mypy

test-fast: setup ## tests that need no service (under 15 s)
	$(BIN)/pytest -q -m "not postgres and not timescaledb and not valkey and not telegraf and not browser and not root"

test: lint types ## set up and run every check and test; what a lane lacks is said by name
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/pytest

telegraf: ## obtain the pinned Telegraf with only the plugins used
	@scripts/telegraf

timescaledb: ## build TimescaleDB beside a private copy of PostgreSQL (Debian, changes nothing of the system)
	@scripts/timescaledb

lock: ## write the lock files from pyproject.toml
	@scripts/lock $(ARGS)

clean: ## remove .venv and caches of this checkout
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache build dist *.egg-info
