# Everything a person or CI does with this checkout; `make help` lists it.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
SERVICES := postgres or timescaledb or valkey or telegraf or browser or pdf or prometheus or root or guests or vcenter or libvirt or chart
# Many tests wait, so there is one worker more than the machine has cores.
# Tests on the real kernel (lane root) measure, so they run one after the other.
# What a file prepares, such as a guest, is there once; the order is that of tests/conftest.py, what
# takes longest first.
BY_FILE := --dist loadfile --no-loadscope-reorder
PARALLEL := -n $(shell echo $$(( $$(nproc) + 1 ))) $(BY_FILE)
export PYTHON SERVICES
# Compiled modules, tests among them, are kept from run to run.
unexport PYTHONDONTWRITEBYTECODE
# The tests on real kernels; one that measures in real time runs alone.
define KERNEL_TESTS
scripts/leg.py $(BIN)/pytest -q -m "root and quiet and not long"
scripts/leg.py $(BIN)/pytest -q -n 2 $(BY_FILE) -m "root and not quiet and not long"
endef
ON_TIMESCALEDB := "postgres and not (root or valkey or telegraf or browser or any_database)"
# TimescaleDB has the tables of samples alone; what is shown of them reads through the same functions.
# Where it is there, `sluice run` takes it, also in the tests of the whole product above.
OF_SAMPLES := $(addprefix tests/, ingest advisor/history advisor/queries upgrade)
# What CI measures for each commit. Those that are held are on virtual time, which no load moves. The
# overshoot of the reservation, on virtual time too, misses now and then.
HELD := limit shares
SHORT_ROWS := --short --kernels 6.12 --must $(HELD) --parts $(HELD) reservation wrong-model mixed-limit study limited-ping policy-change agent-cost studies
export SLUICE_CACHE_DIR ?= $(HOME)/.cache/sluice
.DEFAULT_GOAL := help
.PHONY: help whole-way setup run demo deb image docs test test-long test-fast test-package test-walls test-pages test-api test-kernels kernel-rows mutate check telegraf timescaledb screenshots lab testbed testbed-programs chaos load simulate server-deb server-image wheels chart chart-programs lock clean

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

setup: $(VENV)/.installed-dev ## prepare .venv from the lock file (quick when up to date)

NATIVE := scripts/native $(wildcard ingest/native/Cargo.* ingest/native/src/*)
NATIVE += scripts/bpf $(wildcard enforcers/mechanisms/*/*.bpf.c)

$(VENV)/.installed-run: requirements.txt pyproject.toml scripts/setup $(NATIVE)
	@scripts/setup requirements.txt
	@touch $@

$(VENV)/.installed-dev: requirements-dev.txt pyproject.toml scripts/setup $(NATIVE)
	@scripts/setup requirements-dev.txt
	@touch $(VENV)/.installed-run $@

run: $(VENV)/.installed-run ## start everything below one data directory; Ctrl-C stops it (ARGS="--port 8001")
	@$(BIN)/sluice run $(ARGS)

screenshots: setup ## take the README's screenshots from the sample, in both themes (some minutes; needs Chromium)
	@$(BIN)/python scripts/screenshots.py $(ARGS)

demo: $(VENV)/.installed-run ## play the main job once on real input; exit status 0 if every verdict is met
	@if [[ "$$(id -u)$(ARGS)$$SLUICE_TELEGRAF" = 0 ]] && ! type -P telegraf >/dev/null; then \
	    scripts/telegraf; fi
	@$(BIN)/sluice demo $(ARGS)

deb: ## build the agent's Debian package into dist/
	@scripts/deb dist

image: ## build the agent's container image into dist/, of the Debian that `make testbed-programs` obtains
	@python3 -m scripts.image dist

server-deb: setup ## build the server's Debian package into dist/, for the Debian of `make testbed-programs`
	@$(BIN)/python -m scripts.server_deb dist

server-image: setup ## build the server's Debian package and container image into dist/
	@set -e; package=$$($(BIN)/python -m scripts.server_deb dist); echo $$package; \
	    $(BIN)/python -m scripts.image --server --package $$package dist

wheels: setup ## build what can be published of server, agent and native part into dist/wheels, and check it
	@$(BIN)/python -m scripts.wheels dist/wheels

docs: setup ## build the documentation as a folder of HTML, dist/docs; a broken link is an error
	@SLUICE_SECRET_KEY=unused $(BIN)/python scripts/docs.py dist/docs

check: setup ## format, lint, import contracts, types, dead code, missing migrations
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/lint-imports --no-cache > $(VENV)/lint-imports.log || { cat $(VENV)/lint-imports.log; exit 1; }
	SLUICE_SECRET_KEY=unused $(BIN)/mypy --no-error-summary
	@$(BIN)/python scripts/framework_names.py > $(VENV)/framework_names.py
	$(BIN)/vulture
	@SLUICE_SECRET_KEY=unused $(BIN)/python -W ignore manage.py makemigrations --check --dry-run
	@SLUICE_SECRET_KEY=unused $(BIN)/python manage.py openapi --check docs/openapi.json
	@$(BIN)/python scripts/api_client.py --check
	@$(BIN)/python scripts/reference.py --check
	@$(BIN)/python scripts/dashboards.py --check

test-fast: setup ## the quick tests that need no service
	$(BIN)/pytest -q -m "not ($(SERVICES) or slow)" --hypothesis-profile=fast -n auto --dist loadfile

mutate: setup ## plant 300 small faults in the cores and the agent, one by one; status 1 if tests miss more than 5 % (ARGS="--seed 2")
	@nice $(BIN)/python -m bench.mutation $(ARGS)

test: setup check ## set up, and run every check and all tests but long ones; a lane that lacks something says so by name
	@scripts/telegraf || echo "make test: goes on without Telegraf"
	@scripts/timescaledb || echo "make test: goes on without TimescaleDB"
	@scripts/testbed || echo "make test: goes on without the laboratory of collectors"
	@scripts/kernels || echo "make test: goes on without guests that enforce storage"
	@scripts/debian13 || echo "make test: goes on without a Debian 13 for the agent's package"
	scripts/leg.py $(BIN)/pytest -q $(PARALLEL) -m "not (root or timescaledb or long or chart)"
	@echo "make test: what stores and reads samples again, on TimescaleDB"
	SLUICE_TEST_DATABASE=timescaledb scripts/leg.py $(BIN)/pytest -q $(PARALLEL) -m $(ON_TIMESCALEDB)" and not long" $(OF_SAMPLES)
	$(KERNEL_TESTS)

test-long: setup ## the tests that take minutes each, and all tests of the database on TimescaleDB
	scripts/leg.py $(BIN)/pytest -q $(PARALLEL) -m "long and not root"
	scripts/leg.py $(BIN)/pytest -q -m "long and root"
	SLUICE_TEST_DATABASE=timescaledb scripts/leg.py $(BIN)/pytest -q $(PARALLEL) -m $(ON_TIMESCALEDB)

test-package: setup testbed-programs ## install the agent's package in a Debian 13 with systemd, in a guest, by the README's lines (root)
	scripts/leg.py $(BIN)/pytest -q tests/testbed/test_package.py

test-walls: setup ## the tests that keep organisations apart: every route, method and role, and each filter taken out
	$(BIN)/pytest -q $(PARALLEL) tests/web/test_route_matrix.py tests/web/test_removed_filters.py tests/web/test_access.py tests/config tests/ingest/test_tenancy.py

test-pages: setup ## the tests of pages, in Chromium too
	$(BIN)/pytest -q $(PARALLEL) tests/web

test-kernels: setup testbed-programs ## what CI runs on real kernels, tests and short rows, and how long it took (root)
	@date +%s > $(VENV)/kernels-began
	$(KERNEL_TESTS)
	@$(MAKE) --no-print-directory kernel-rows
	@echo "make test-kernels: $$(( $$(date +%s) - $$(cat $(VENV)/kernels-began) )) s"

kernel-rows: setup ## measure the rows that CI keeps for each commit (ARGS="--keep FILE"); status 1 if a limit or shares miss
	@began=$$(date +%s); $(BIN)/python -m bench.testbed $(SHORT_ROWS) $(ARGS) && \
	    echo "make kernel-rows: $$(( $$(date +%s) - began )) s"

whole-way: setup ## from a pasted line to a mailed report, on the whole product, on an idle machine (8 minutes; root)
	SLUICE_WHOLE_WAY=1 $(BIN)/pytest -q tests/whole_way

chaos: setup ## let everything fail by 200 seeds, and see that no sample is lost and all comes back (root; 45 minutes; ARGS="--seeds 1-20 --json FILE")
	@$(BIN)/python -m bench.chaos $(ARGS)

load: setup ## play 1,000 agents and 10,000 series on the whole product (ARGS="--minutes 10 --json FILE")
	@$(BIN)/python -m bench.load $(ARGS)

test-api: setup ## let schemathesis ask every operation of the API 20 things that are described and 20 that are not
	SLUICE_API_CASES=20 $(BIN)/pytest -q $(PARALLEL) --dist load tests/web/api/test_schemathesis.py

telegraf: ## obtain the pinned Telegraf with only the plugins used
	@scripts/telegraf

timescaledb: ## build TimescaleDB beside a private PostgreSQL; changes nothing of the system (Debian)
	@scripts/timescaledb

testbed: setup ## measure on real kernels what the agent must hold: a table, and plots in dist/testbed (ARGS="--json FILE")
	@scripts/testbed
	@scripts/kernels
	@scripts/debian13 || echo "make testbed: goes on without a Debian 13 for the agent's package"
	@$(BIN)/python -m bench.testbed --plots dist/testbed $(ARGS)

lab: setup ## let policy advice predict what planted loads get on real kernels, measure it, and print the table (root; ARGS="--kind disk")
	@$(BIN)/python -m bench.lab $(ARGS)

testbed-programs: ## obtain kernels, a Debian 13, NFS server and vCenter for the testbed (Debian, amd64)
	@scripts/testbed
	@scripts/kernels
	@scripts/debian13

simulate: $(VENV)/.installed-run ## play seeds: real service and agents on virtual time with faults (ARGS="--seeds 1-600 --json FILE")
	@$(BIN)/sluice simulate $(ARGS)
chart: setup chart-programs ## lint the Helm chart, run its unit tests, and install it on a real API server
	scripts/leg.py $(BIN)/pytest -q tests/chart

chart-programs: ## build Helm, its unit tests and Kubernetes' API server for tests of the chart (ten minutes once)
	@scripts/chart_programs

lock: ## write the lock files from pyproject.toml (ARGS="--upgrade-package django")
	@scripts/lock $(ARGS)

clean: ## remove .venv and the caches of this checkout
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist *.egg-info
