# make demo and make test do all the set-up themselves; they need Python 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: help demo test test-spark faults fuzz check bench bench-compare bench-grouping bench-growth bench-spark peers reproduce lock clean

help:
	@echo "make demo            a clinic of 40,000 people publishes ten releases"
	@echo "make test            the gate and all tests"
	@echo "make test-spark      all tests of Spark, some of which take minutes"
	@echo "make faults          power cuts, I/O errors, full disks and no memory at every file operation"
	@echo "make fuzz            odd inputs by the thousand; how many ended with a traceback, or never"
	@echo "make check           the gate: ruff, mypy, import contract"
	@echo "make bench           speed, side by side with the machine's floor"
	@echo "make peers           other programs for make bench to run, installed apart"
	@echo "make bench-compare   the last two runs of it beside each other"
	@echo "make bench-grouping  group sizes and precision on several data sets"
	@echo "make bench-growth    a release and an audit after 10 and after 200 releases"
	@echo "make bench-spark     Spark beside the local engine: time and traffic at 1M, 3M, 10M people"
	@echo "make reproduce       the paper's study and what goes beyond it"
	@echo "make lock            pin the newest versions that the ranges allow"

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $(READY)

demo: $(READY)
	@$(BIN)/python examples/clinic.py --out demo-out

test: check
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not thorough"

test-spark: $(READY)
	$(BIN)/python -m pytest tests/spark

# A sample of it is part of make test; the whole takes about half an hour on two cores.
faults: $(READY)
	@cd tests && ../$(BIN)/python -m faults.campaign

fuzz: $(READY)
	cd tests && ../$(BIN)/python -m fuzz

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python -m benchmarks.speed

# Peers pin other versions than Serigraph does, so they are installed apart.
peers:
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check ".[peers]"

bench-compare: $(READY)
	$(BIN)/python -m benchmarks.compare

bench-grouping: $(READY)
	$(BIN)/python -m benchmarks.grouping

bench-growth: $(READY)
	$(BIN)/python -m benchmarks.growth

# Other sizes: make bench-spark PEOPLE="100000 300000"
PEOPLE ?= 1000000 3000000 10000000
bench-spark: $(READY)
	$(BIN)/python -m benchmarks.spark --people $(PEOPLE)

reproduce: $(READY)
	$(BIN)/serigraph reproduce --out study

lock:
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	$(BIN)/python -m pip freeze --exclude-editable > constraints.txt
	@touch $(READY)

clean:
	rm -rf $(VENV) .venv-peers demo-out bench-out study
