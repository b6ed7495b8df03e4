# Everything is set up where it is needed: Python 3.10 or later and make are enough.

PYTHON ?= python3
OLDEST_SCRAPY = Scrapy==2.14.0
PACKAGE = setup.cfg pyproject.toml

BIN = .venv/bin
OLDEST = .venv-oldest/bin
PYTEST = -m pytest
# Crawls in this process; those of test_reactor_modes.py have processes of their own in any case.
CRAWLS = tests/crawl --ignore=tests/crawl/test_reactor_modes.py

.PHONY: demo test test-units test-crawls test-select test-oldest test-oldest-select test-parsers lint build stress comparison tables clean

demo: .venv/installed
	cd sample_project && ../$(BIN)/scrapy crawl s2_why

# Crawls mostly wait, so these run side by side; the output of each comes when it is complete.
test: .venv/installed-dev .venv-oldest/installed-dev
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=target \
		test-oldest test-crawls test-units test-select test-oldest-select

test-units: .venv/installed-dev
	$(BIN)/python $(PYTEST) --reactor=asyncio --ignore=tests/crawl

test-crawls: .venv/installed-dev
	$(BIN)/python $(PYTEST) --reactor=asyncio tests/crawl

test-select: .venv/installed-dev
	$(BIN)/python $(PYTEST) --reactor=default $(CRAWLS)

test-oldest: .venv-oldest/installed-dev
	$(OLDEST)/python $(PYTEST) --reactor=asyncio tests/crawl

# What differs by reactor and by version at once: the gate, failures, delays, interleavings.
test-oldest-select: .venv-oldest/installed-dev
	$(OLDEST)/python $(PYTEST) --reactor=default $(addprefix tests/crawl/test_, \
		gate.py failures.py faults.py interleavings.py crawl_delay.py)

# The crawls with each of Scrapy's own parsers in place of ours.
test-parsers: .venv/installed-dev
	for parser in ProtegoRobotParser PythonRobotParser RerpRobotParser; do \
		ROBOTS_TEST_PARSER=$$parser $(BIN)/python $(PYTEST) --reactor=asyncio $(CRAWLS) || exit 1; \
	done

stress: .venv/installed-dev test-parsers
	$(BIN)/python $(PYTEST) --reactor=asyncio -m stress

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

build: .venv/installed
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

# What the README and docs show, measured and generated anew.
comparison: .venv/installed-dev
	$(BIN)/python -m benchmarks.comparison

tables: .venv/installed
	$(BIN)/python -m docs.tables

clean:
	rm -rf .venv .venv-oldest build dist *.egg-info
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/python .venv-oldest/python:
	$(PYTHON) -m venv $(@D)
	touch $@

.venv/installed: .venv/python $(PACKAGE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

.venv-oldest/installed-dev: .venv-oldest/python $(PACKAGE)
	$(OLDEST)/python -m pip install --quiet --disable-pip-version-check $(OLDEST_SCRAPY) --editable '.[dev]'
	touch $@
