# Everything is set up where it is needed: Python 3.10 or later and make are enough.

export PYTHON ?= python3
# Tests start hundreds of interpreters: what one has compiled is there for the next.
unexport PYTHONDONTWRITEBYTECODE
PACKAGE = setup.cfg pyproject.toml

# Whoever has an environment already, as tox has, names it: VENV=folder. Nothing is installed then.
export VENV ?= .venv
BIN = $(VENV)/bin
OLDEST = .venv-oldest/bin
# A cache for each target: they run side by side, and AGAIN may name what failed in one of them.
RUN = $(BIN)/python $(if $(SHARED_FORKS),-IS tests/in_fork.py,-m)
PYTEST = pytest -o cache_dir=.pytest_cache/$@ $(AGAIN)
# Crawls in this process. Left out is what has processes of its own for each reactor, or no crawl.
CRAWLS = tests/crawl tests/hosts $(part_pages) $(addprefix --ignore=tests/crawl/test_, \
	lost_requests.py queue_properties.py reactor_modes.py slow_connections.py)
PARTS = hosts workers no losses pages c abd-eg-il-m s-z r f p-q j-k redis few
# The files of a part, by the letters that they begin with; those of workers wait most.
part = $(or $(part_$1),$(wildcard tests/crawl/test_[$1]*.py))
part_hosts = tests/hosts
part_pages = tests/pages tests/report tests/requests
part_workers = $(wildcard tests/crawl/shared_queue/test_[m-z]*.py)
part_losses = $(wildcard tests/crawl/shared_queue/test_[a-l]*.py)
part_few = $(addprefix tests/crawl/test_, few_files.py full_disk.py)
part_redis = $(wildcard tests/crawl/test_redis*.py)
part_f = $(filter-out $(part_few),$(wildcard tests/crawl/test_f*.py))
part_r = $(filter-out $(part_redis),$(wildcard tests/crawl/test_r*.py))
FIRST = others testing engine
UNITS = $(FIRST) stores commands-a-o commands-p-z files protocol
UNITS_commands-a-o = $(wildcard tests/commands/test_[a-o]*.py)
UNITS_commands-p-z = $(wildcard tests/commands/test_[p-z]*.py)
UNITS_protocol = $(addprefix tests/protocol/, directives lint preferences)
UNITS_engine = $(wildcard tests/protocol/test_*.py)
UNITS_stores = $(addprefix tests/, origins redis settings storage)
UNITS_testing = $(addprefix tests/test_, package.py testing.py)
UNITS_others = $(filter-out $(REPOSITORY) $(UNITS_testing),$(wildcard tests/test_*.py))
# Of what stands around the package.
REPOSITORY = $(addprefix tests/test_, benchmarks.py build.py cluster_demo.py make.py samples.py tutorial.py)
UNITS_files = tests/audit tests/job
# MEASURE=yes counts the lines that these run, for `make coverage`.
MEASURED = $(addprefix test-units-, engine protocol stores)
INSTALLED = .venv/installed-$(if $(MEASURE),checks,dev)
# Not forked: it imports by itself, while the process that forks still imports for all others.
test-units-others test-units-testing: RUN = $(BIN)/python -m
ifdef MEASURE
$(MEASURED): RUN = $(BIN)/coverage run -m
endif
# Read from files of the repository: they fail where the sdist lacks one.
OF_FILES = $(addprefix tests/, settings $(addprefix test_, ci.py docs_pages.py docs_site.py layers.py one_home.py \
	package.py readme.py sample_project.py samples.py) crawl/test_gate.py)
OLDEST_PARTS = $(addprefix test-oldest-,$(PARTS)) test-oldest-select
STRESS = test-stress-crawls test-stress-protocol test-upstream test-stress-others test-stress-properties \
	$(addprefix mutants-, protocol origins storage) $(addprefix test-parser-,$(PARSERS)) test-select-all
STRESS_crawls = tests/crawl $(part_pages)
STRESS_protocol = tests/protocol
STRESS_properties = --hypothesis-profile=many -m "hypothesis and not stress"
STRESS_others = $(addprefix --ignore=, tests/protocol $(STRESS_crawls))
PARSERS = Protego Python Rerp
# Whether the environments are whole was seen already.
SIDE_BY_SIDE = $(BIN)/python -m tests.side_by_side $(addprefix --old-file=,$(wildcard .venv*/python)) $(MAKE_COMMAND)

.PHONY: help demo cluster-demo docs test test-units test-repository test-crawls test-select test-select-all \
	rest \
	test-oldest test-oldest-select test-parsers test-upstream test-next test-packages test-sdist coverage mutants \
	stress lint style types build comparison tables clean \
	always

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-20s %s\n", $$1, $$2 }' Makefile
	@echo "With another Python: make COMMAND PYTHON=python3.13"

demo: .venv/installed ## the sample project: a crawl, offline, and what it denied
	@cd sample_project && ../$(BIN)/scrapy crawl s2_why

cluster-demo: .venv/installed-dev ## four workers, offline, and what the hosts saw of all together; a picture of it
	@cd sample_project && PYTHONPATH=.. ../$(BIN)/python -m robots_sample.cluster --picture ../build/cluster.svg

# Crawls mostly wait, so these run side by side, in parts by the names of files and folders. Each takes about as much of
# the processor as the others, so that none is left alone at the end. What waits for nothing comes last; a part of it goes
# first, for the moments in which all crawls wait.
test: $(INSTALLED) ## the tests, on the newest Scrapy
	@$(SIDE_BY_SIDE) --forks $(addprefix test-units-,$(FIRST)) $(addprefix test-crawls-,$(PARTS)) \
		$(addprefix test-units-,$(filter-out $(FIRST),$(UNITS)))

test-units: .venv/installed-dev ## a part of them: all but crawls
	@$(SIDE_BY_SIDE) $(addprefix test-units-,$(UNITS))

test-units-%: .venv/installed-dev
	$(RUN) $(PYTEST) --reactor=asyncio $(UNITS_$*)

test-repository: .venv/installed-dev ## the tests of what stands around the package: make, the wheel, samples
	$(RUN) $(PYTEST) --reactor=asyncio $(REPOSITORY)

test-crawls: .venv/installed-dev ## a part of them: crawls, with the asyncio reactor
	@$(SIDE_BY_SIDE) $(addprefix test-crawls-,$(PARTS))

test-oldest: .venv-oldest/installed-dev ## crawls on the oldest Scrapy
	@$(SIDE_BY_SIDE) $(OLDEST_PARTS)

test-crawls-%: .venv/installed-dev
	$(RUN) $(PYTEST) --reactor=asyncio $(call part,$*)

test-oldest-%: .venv-oldest/installed-dev
	$(OLDEST)/python -m $(PYTEST) --reactor=asyncio $(call part,$*)

# What may differ by reactor; the others have their turn in test-select-all.
test-select: .venv/installed-dev ## crawls with another reactor: those that may differ
	$(RUN) $(PYTEST) --reactor=default $(addprefix tests/crawl/test_, gate.py budget.py failures.py \
		faults_at_every_await.py interleavings.py crawl_delay.py cut_bodies.py defer.py fetch_time.py closing.py \
		queue.py retry_after.py rules_while_waiting.py tdmrep.py)

test-select-all: .venv/installed-dev ## all crawls, with another reactor
	$(RUN) $(PYTEST) --reactor=default $(CRAWLS)

# What differs by reactor and by version at once: the gate, failures, delays, interleavings.
test-oldest-select: .venv-oldest/installed-dev ## a part of them: with another reactor
	$(OLDEST)/python -m $(PYTEST) --reactor=default $(addprefix tests/crawl/test_, \
		gate.py failures.py faults_at_every_await.py interleavings.py crawl_delay.py)

test-parsers: .venv/installed-dev ## crawls with each of Scrapy's own parsers in place of ours
	@$(SIDE_BY_SIDE) $(addprefix test-parser-,$(PARSERS))

test-parser-%: .venv/installed-dev
	ROBOTS_TEST_PARSER=$*RobotParser $(RUN) $(PYTEST) --reactor=asyncio $(CRAWLS)

test-upstream: .venv/installed-dev ## Scrapy's own tests, without and with the add-on
	$(BIN)/python -m tests.upstream

# SCRAPY=~/scrapy, or SCRAPY=~/scrapy@refs/pull/6931/head
test-next: .venv/python ## crawls on a Scrapy of one's own: a copy of its repository, SCRAPY=path or SCRAPY=path@ref
	.venv/bin/python -m tests.next_scrapy $(SCRAPY)

# Crawls with a browser are left out where there is no chromium (apt install chromium).
test-packages: .venv-packages/installed-dev ## crawls with scrapy-redis, scrapy-playwright, scrapy-poet and others
	.venv-packages/bin/python -m $(PYTEST) --reactor=asyncio -m "stress or not stress" \
		$(addprefix tests/crawl/test_, other_packages.py playwright.py) tests/pages/test_item_feeds.py

# All of them are imported, so that no helper is missing, and from there, though by the environment of the repository.
test-sdist: build ## the tests that the sdist holds: all are imported, a part is run
	@folder=$$(mktemp -d) && tar -xzf dist/*.tar.gz -C "$$folder" --strip-components=1 && \
		python=$$PWD/$(BIN)/python && (cd "$$folder" && $$python -m pytest --reactor=asyncio $(OF_FILES) && \
		{ output=$$($$python -m pytest --collect-only -q --assert=plain 2>&1) || { printf '%s\n' "$$output"; false; }; }); \
		result=$$?; rm -rf "$$folder"; exit $$result

# With MEASURE=yes, what `make test` has measured.
coverage: .venv/installed-checks ## lines and branches of what needs no crawl (protocol, storage, redis ...) that its own tests run: 99.9 %
	@$(if $(MEASURE),,rm -f .coverage .coverage.*; MEASURE=yes $(SIDE_BY_SIDE) $(MEASURED))
	@$(BIN)/coverage combine -q
	$(BIN)/coverage report --fail-under=99.9

test-python-%: build
	@.ci/other-python $* dist/*.whl

# None of it changes an environment that another one uses, and what is built stays.
rest: .venv/installed-docs .venv/installed-checks .venv-oldest/installed-dev build ## what `.ci/run` does after `make test`, side by side
	@$(SIDE_BY_SIDE) --old-file=build test-python-3.13 test-python-3.10 types test-select test-repository \
		$(OLDEST_PARTS) test-sdist coverage style docs

# MUTANTS="origins --seed 1" names a folder and repeats a run.
mutants: .venv/installed-mutants ## changes the package at random, and counts what its tests notice
	$(BIN)/python -m tests.mutants $(MUTANTS)

# Two at once, the longest first: some of them measure.
stress: .venv/installed-dev .venv/installed-mutants ## the long proofs
	@$(BIN)/python -m tests.side_by_side --at-once 2 --seconds 7200 $(MAKE_COMMAND) $(STRESS)

test-stress-%: .venv/installed-dev
	$(RUN) $(PYTEST) --reactor=asyncio -m stress $(STRESS_$*)

# The same mutants each time: so few of them score a little more or less each time.
mutants-%: .venv/installed-mutants
	$(BIN)/python -m tests.mutants $* --sample 40 --seed 1 --jobs 1

lint: style types ## all that is found without running it: both of the next

style: .venv/installed-checks ## ruff, formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed-checks ## mypy: strict, a little less so for tests and benchmarks
	$(BIN)/mypy

build: .venv/installed-dev ## an sdist, and from it a wheel, in dist
	@rm -rf dist
	@output=$$($(BIN)/python -m build --no-isolation 2>&1) || { printf '%s\n' "$$output"; exit 1; }
	@ls dist/*

comparison: .venv/installed-dev ## crawls the situations of the README's comparison anew, writes the table
	$(BIN)/python -m benchmarks.comparison

tables: .venv/installed ## writes into README.md and docs what comes from the code: settings, meta keys, stats
	$(BIN)/python -m docs.tables

# All pages anew, so that none keeps a warning to itself; no network is asked.
docs: .venv/installed-docs ## the docs site, in build/docs
	@$(BIN)/python -m sphinx -E -n -W --keep-going -q -d build/doctrees docs build/docs
	@echo "build/docs/index.html"

clean: ## takes away all that was made
	rm -rf .venv .venv-* build dist *.egg-info .coverage*
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Looked at each time; what depends on them is made again only if the script made them anew.
.venv/python .venv-oldest/python .venv-packages/python: always
	@.ci/venv $(@D)

ifeq ($(VENV),.venv)
.venv/installed: .venv/python $(PACKAGE)
	@.ci/venv $(@D) --editable .
	@touch $@

.venv/installed-docs: .venv/installed
	@.ci/venv $(@D) --editable '.[docs]'
	@touch $@

.venv/installed-dev: .venv/python $(PACKAGE)
	@.ci/venv $(@D) --editable '.[dev]'
	@touch $(@D)/installed $@

.venv/installed-checks: .venv/installed-dev
	@.ci/venv $(@D) --editable '.[checks]'
	@touch $@
else
.venv/installed .venv/installed-dev .venv/installed-docs .venv/installed-checks: ;
endif

.venv-packages/installed-dev: .venv-packages/python $(PACKAGE)
	@.ci/venv $(@D) --editable '.[dev,packages]'
	@touch $@

.venv/installed-mutants: .venv/installed-dev
	@.ci/venv $(@D) --editable '.[mutants]'
	@touch $@

.venv-oldest/installed-dev: .venv-oldest/python $(PACKAGE) .ci/oldest.txt
	@.ci/venv $(@D) --requirement .ci/oldest.txt --editable '.[dev]'
	@touch $@
