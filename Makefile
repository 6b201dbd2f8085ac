# make demo and make test do all the set-up themselves; they need Python 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
READY_DEV := $(VENV)/ready-dev
STORES := .venv-stores
AZURITE := azurite@3.35.0
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
# Files go to two processes in their order, as tests/conftest.py says.
TESTS := $(BIN)/python -m pytest -n 2 --no-loadscope-reorder

.PHONY: help demo test test-thorough test-stores programs faults fuzz fuzz-web check coverage docs picture hooks bench bench-compare bench-grouping bench-growth bench-pages bench-persistence bench-spark bench-utility attacks blindness leaks peers reproduce study lock clean

help:
	@echo "make demo            a clinic of 40,000 people publishes ten releases"
	@echo "make test            the gate, coverage and all tests"
	@echo "make test-thorough   what make test runs a sample of: more seeds and random cases, Spark on a cluster"
	@echo "make test-stores     tables from S3, Google's and Azure's stores, by servers on this machine"
	@echo "make faults          power cuts, I/O errors, full disks and no memory at every file operation"
	@echo "make fuzz            odd inputs by the thousand; how many ended with a traceback, or never"
	@echo "make fuzz-web        ten thousand odd requests to the site of serigraph serve"
	@echo "make programs        Chromium and PostgreSQL for the tests, by apt-get if they are missing"
	@echo "make check           the gate: ruff, mypy, import contract, doctests, docs"
	@echo "make coverage        the lines of the package that small tests reach, with a floor"
	@echo "make docs            the documentation as a site, in site/, links checked"
	@echo "make picture         the pictures of README and docs, computed anew"
	@echo "make hooks           run the gate's quick tools before every commit"
	@echo "make bench           speed, side by side with the machine's floor"
	@echo "make peers           other programs for make bench to run, installed apart"
	@echo "make bench-compare   the last two runs of it beside each other"
	@echo "make bench-grouping  group sizes and precision on several data sets"
	@echo "make bench-growth    a release and an audit after 10 and after 200 releases"
	@echo "make bench-pages     pages of the browser for a series of a million people"
	@echo "make bench-persistence what comparing releases tells where values persist, by law and form"
	@echo "make attacks         attacks on releases of several methods, ours among them, as a page"
	@echo "make blindness       whether groups tell who holds: exactly on small tables, measured on large"
	@echo "make leaks           the leaks of version 0.1.0, tried again with a hundred seeds"
	@echo "make bench-spark     Spark beside the local engine: time and traffic at 1M, 3M, 10M people"
	@echo "make bench-utility   group sizes and errors of queries by strategy, in five settings"
	@echo "make reproduce       the paper's study and what goes beyond it"
	@echo "make study           the same, and docs/explanation/study.md from its results"
	@echo "make lock            pin the newest versions that the ranges allow"

# The package alone: no Spark, no Java, no linters.
$(READY): pyproject.toml constraints.txt
	@echo "Installing Serigraph into $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) -c constraints.txt -e .
	@touch $(READY)

$(READY_DEV): $(READY)
	@echo "Installing what tests and docs need into $(VENV)"
	@$(PIP) -c constraints.txt -e ".[dev]"
	@touch $(READY_DEV)

demo: $(READY)
	@$(BIN)/python examples/clinic.py --out demo-out

test: check programs coverage
	$(TESTS) -m "not thorough" --durations=25

# What make test has a sample of: cases marked as thorough, and more random ones of all properties.
test-thorough: $(READY_DEV)
	$(TESTS) -m "thorough or hypothesis" --hypothesis-profile many --durations=25

# What the stores' packages need contradicts the lock, so they are installed apart.
$(STORES)/ready: pyproject.toml tests/stores/constraints.txt
	@echo "Installing packages and servers of stores into $(STORES)"
	@$(PYTHON) -m venv $(STORES)
	@$(STORES)/bin/python -m pip --disable-pip-version-check install --quiet \
		-c tests/stores/constraints.txt -e ".[stores]"
	@command -v npm >/dev/null || echo "Not installed, and needed by the tests of Azure: Node.js with npm"
	@! command -v npm >/dev/null || npm install --prefix $(STORES)/azurite --no-save \
		--no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error $(AZURITE)
	@touch $@

test-stores: $(STORES)/ready
	$(STORES)/bin/python -m pytest tests/stores

# A sample of it is part of make test. Another size: make faults SHARE=0.1
SHARE ?= 1
faults: $(READY_DEV)
	@cd tests && ../$(BIN)/python -m faults.campaign --share $(SHARE)

# Real programs of the distribution. Tests that miss one say so, and fail where CI is set.
programs:
	@missing=""; \
	{ command -v chromium || command -v chromium-browser || command -v google-chrome; } \
		>/dev/null || missing="chromium"; \
	command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || \
		missing="$$missing postgresql"; \
	[ -z "$$missing" ] || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		apt-get update -qq && apt-get install -y -qq $$missing >/dev/null; } || \
		echo "Not installed, and needed by some tests: $$missing"

fuzz-web: $(READY_DEV)
	cd tests && PYTHONPATH=. ../$(BIN)/python -m web.fuzzing 10000

fuzz: $(READY_DEV)
	cd tests && ../$(BIN)/python -m fuzz

check: $(READY_DEV) docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest --doctest-modules src

# Kernels run as plain Python, so that their lines count: tests that are quick that way, with few
# random cases each. (Unsigned products and sums wrap around, as compiled ones do.) The floor is in
# pyproject.toml; CONTRIBUTING.md says what is left out.
coverage: $(READY_DEV)
	NUMBA_DISABLE_JIT=1 $(TESTS) -m "not thorough" --hypothesis-profile few @tests/small.txt \
		-W "ignore:overflow encountered in scalar:RuntimeWarning" --cov --cov-report=term

docs: $(READY_DEV)
	$(BIN)/mkdocs build --quiet --strict

picture: $(READY_DEV)
	$(BIN)/python docs/pictures/ten_releases.py
	$(BIN)/python docs/pictures/chronic_clinic.py
	$(BIN)/python docs/pictures/rooms.py
	SERIGRAPH_PICTURES=$(CURDIR)/docs/pictures $(BIN)/python -m pytest tests/web/test_browser.py -k newcomer

hooks: $(READY_DEV)
	$(BIN)/pre-commit install

bench: $(READY_DEV)
	$(BIN)/python -m benchmarks.speed

# Peers pin other versions than Serigraph does, so they are installed apart.
peers:
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check ".[peers]"

bench-compare: $(READY_DEV)
	$(BIN)/python -m benchmarks.compare

bench-grouping: $(READY_DEV)
	$(BIN)/python -m benchmarks.grouping

bench-growth: $(READY_DEV)
	$(BIN)/python -m benchmarks.growth

bench-pages: $(READY_DEV)
	$(BIN)/python -m benchmarks.pages

bench-persistence: $(READY_DEV)
	$(BIN)/python -m benchmarks.persistence

# Other sizes: make bench-spark PEOPLE="100000 300000"
PEOPLE ?= 1000000 3000000 10000000
bench-spark: $(READY_DEV)
	$(BIN)/python -m benchmarks.spark --people $(PEOPLE)

# Single releases of other tools as well: make attacks FOREIGN=folder
attacks: $(READY_DEV)
	PYTHONPATH=tests $(BIN)/python -m benchmarks.attacks $(if $(FOREIGN),--foreign $(FOREIGN))

blindness: $(READY_DEV)
	PYTHONPATH=tests $(BIN)/python -m benchmarks.blindness

# A first look: .venv/bin/python -m benchmarks.utility --people 10000 --seeds 1
bench-utility: $(READY_DEV)
	$(BIN)/python -m benchmarks.utility

reproduce: $(READY)
	$(BIN)/serigraph reproduce --out study

# Another size: make study STUDY="--people 4000 --queries 500"
study: $(READY)
	$(BIN)/serigraph reproduce --out study $(STUDY)
	$(BIN)/python docs/generate_study.py study

# A sample of it is part of make test.
leaks: $(READY_DEV)
	cd tests && ../$(BIN)/python -m leaks

lock:
	rm -rf $(VENV) $(STORES)
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e ".[dev]"
	$(BIN)/python -m pip freeze --exclude-editable > constraints.txt
	@touch $(READY) $(READY_DEV)
	$(PYTHON) -m venv $(STORES)
	$(STORES)/bin/python -m pip --disable-pip-version-check install --quiet -e ".[stores]"
	$(STORES)/bin/python -m pip freeze --exclude-editable > tests/stores/constraints.txt

clean:
	rm -rf $(VENV) $(STORES) .venv-peers demo-out bench-out study site
