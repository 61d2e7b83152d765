# Everything a contributor runs. Each target makes the virtual environment it needs; a second run finds it there.
#
#   make demo    six rules for bicycle rentals beside a tree and linear models; writes report.html
#   make test    the test suite, doctests included (TESTS=tests/model/test_theory.py ARGS="-k chain" picks some)
#   make test-all   the same with exhaustive sweeps; BGN_NEW_CASES=1 draws other random cases than last time
#   make portable   the same under settings that play other processors, one after another: an hour and more
#   make without PACKAGES="torch dask distributed"   the tests, as if these were not installed
#   make lowest  the tests with the oldest versions of everything that pyproject.toml allows
#   make lint    ruff and mypy
#   make fuzz    many damaged files and odd fits (ARGS="--cases 1000 --seed 1"; the test suite tries a few)
#   make docs    the documentation, in docs/_build/html
#   make bench   the benchmarks (ARGS="speed.py" picks one)
#   make recheck     a few published runs of every study again; if they agree, today's code is noted (needs BGN_DATA)
#   make experiments   the paper's tables and figures (ARGS="accuracy --status"; without, what there is)

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
TESTS ?= tests src/bgn
ARGS ?=

# Tests are shared out among as many processes as there are cores; ARGS="-n 0" runs them in one, for a debugger.
SHARED := -n auto --maxprocesses 8 --dist worksteal
PYTEST := $(BIN)/python -m pytest $(SHARED)

# Tests that need PyTorch run where this version can be had; the rest never notice.
TORCH ?= torch==2.13.0

# Models that the studies compare with and no extra can bring: one asks for packages of years ago, the other is compiled.
RIVALS ?= fasterrisk==0.1.10 pygbrs==0.1.0

.PHONY: help demo test test-all portable without lowest lint fuzz docs bench recheck experiments browser engines clean

help:
	@sed -n '/^# *make /s/^# *//p' Makefile

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py

test: $(VENV)/.dev
	$(PYTEST) $(TESTS) $(ARGS)

test-all: $(VENV)/.dev
	$(PYTEST) --exhaustive $(TESTS) $(ARGS)

# As if some packages were not installed.
without: $(VENV)/.dev
	BGN_WITHOUT="$(PACKAGES)" PYTHONPATH=tests/without $(PYTEST) $(TESTS) $(ARGS)

# With the oldest versions that pyproject.toml allows, whose deprecations are none of ours. The oldest torch comes with
# CUDA alone, so the one the other tests have is taken.
lowest:
	$(MAKE) VENV=$(VENV)-lowest $(VENV)-lowest/.lowest
	$(VENV)-lowest/bin/python -m pytest $(SHARED) -W ignore::DeprecationWarning -W ignore::FutureWarning $(TESTS) $(ARGS)

portable: $(VENV)/.dev
	$(BIN)/python -m tests.portable $(SHARED) $(TESTS) $(ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/mypy

fuzz: $(VENV)/.dev
	@for each in $(sort $(wildcard tests/fuzz_*.py)); do \
		echo "== $$each"; $(BIN)/python -m tests.$$(basename $$each .py) $(ARGS) || exit 1; \
	done

docs: $(VENV)/.docs
	rm -rf docs/api
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	$(BIN)/python .ci/links.py docs/_build/html
	@echo "Open docs/_build/html/index.html"

bench: $(VENV)/.dev
	@for script in $(if $(ARGS),$(addprefix benchmarks/,$(ARGS)),$(sort $(wildcard benchmarks/*.py))); do \
		echo "== $$script"; $(BIN)/python $$script || exit 1; \
	done

recheck: $(VENV)/.dev
	$(BIN)/python -m experiments recheck --cells 5 --longest 8 $(ARGS)

experiments: $(VENV)/.dev
	$(BIN)/python -m experiments $(or $(ARGS),--help)

# The tests that drive a real browser use Chromium; this installs it where that takes no questions.
browser:
	@command -v chromium >/dev/null || { \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium >/dev/null; \
	} || echo "No Chromium: the tests that need a browser will be skipped."

# The tests of exported programs run them in these; what is not there is skipped. LibreOffice is large, and left to you.
ENGINES := gcc:gcc node:nodejs java:default-jre-headless psql:postgresql
engines:
	@lacking=; for each in $(ENGINES); do command -v "$${each%%:*}" >/dev/null || lacking="$$lacking $${each#*:}"; done; \
	[ -z "$$lacking" ] || { \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $$lacking >/dev/null; \
	} || echo "Not installed:$$lacking: the tests of programs that need them will be skipped."

clean:
	rm -rf docs/_build docs/auto_examples docs/api docs/results/generated docs/sg_execution_times.rst build dist report.html
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# -- the virtual environment; a stamp a purpose, older than pyproject.toml means install again -------------------

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "bgn needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Name another: make PYTHON=/path/to/python3.11"; \
		exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "'$(PYTHON) -m venv' failed; on Debian and Ubuntu install python3-venv."; exit 1; }

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[plot,cli,report]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dev]'
	$(PIP) '$(TORCH)' || echo "No $(TORCH) to be had: the tests that need PyTorch will be skipped."
	@for each in $(RIVALS); do $(PIP) --no-deps $$each || echo "No $$each to be had: its tests will be skipped."; done
	@touch $@ $(VENV)/.demo

$(VENV)/.lowest: pyproject.toml .ci/lowest.py | $(BIN)/python
	$(BIN)/python .ci/lowest.py | grep -v '^torch=' > $(VENV)/lowest.txt
	$(PIP) -c $(VENV)/lowest.txt -e '.[dev]'
	$(PIP) -c $(VENV)/lowest.txt '$(TORCH)' || echo "No $(TORCH) to be had: the tests that need PyTorch will be skipped."
	@for each in $(RIVALS); do $(PIP) --no-deps $$each || echo "No $$each to be had: its tests will be skipped."; done
	@touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[docs]'
	$(PIP) '$(TORCH)' || echo "No $(TORCH) to be had: the page on gradient-trained networks is left out."
	@touch $@
