# `make run` and `make test` each do everything from a fresh clone; a second call is quick.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: run test lint types reference clean

# docs/first.md says what it does; Ctrl-C at any time, and the same again goes on
FIRST := runs/first
run: $(READY)
	@echo "Four to ten minutes on 2 cores, once this is installed; Ctrl-C at any time, and make run goes on:"
	@echo "  1. read docstrings of the packages installed here: text -> its one-line summary   (half a minute)"
	@echo "  2. train a start from nothing, on all cores                                       (1 to 4 minutes)"
	@echo "  3. go on from it twice, side by side: by maximum likelihood, and by the metric    (1 to 3 minutes)"
	@echo "  4. choose each one's decoder by validation, test both, write $(FIRST)/report.html (1 to 2 minutes)"
	@$(BIN)/bangbang reproduce headlines --budget first --methods first --tune --brief --out $(FIRST)
	@$(BIN)/bangbang explain $(FIRST)/runs/metric-shared-seed1 --html $(FIRST)/explain.html
	@echo $(FIRST)/report.html

# a file of tests at a time on each core, with one thread: two threads beside anything else are slower than one
test: $(READY)
	@.ci/chromium
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

# docs/reference/, which a test keeps current
reference: $(READY)
	$(BIN)/python docs/reference.py

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("bangbang needs Python 3.11 or newer; try: make PYTHON=python3.12") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist
