# The two commands, `make verify` and `make test`, and the environment that both stand in.
PYTHON ?= python3

BIN := .venv/bin
PIP := $(BIN)/python -m pip
# The constraints go with every install: a torch that is not the pinned one costs gigabytes. pip prefers a CPU build of the
# pinned torch wherever it is told of one (PIP_FIND_LINKS, PIP_EXTRA_INDEX_URL); else Linux gets the large CUDA build, which
# works as well.
INSTALL := $(PIP) install -q --disable-pip-version-check -c constraints.txt --no-build-isolation
EDITABLE := --config-settings editable_mode=strict -e
ROOMS := rankproof benchmarks conformance impl model proofs

# A strict editable install is a tree of links, which knows no file that was added later. The name of the second stamp
# holds a checksum of the list of files, so that the links are made again when a file comes or goes;
# it lies beside the links, in build, and goes with them. The links are compiled there and then: where
# PYTHONDONTWRITEBYTECODE is set no process would keep what it has compiled, and every start would pay for it.
FILES := $(shell find $(ROOMS) -name '*.py' -o -name py.typed | LC_ALL=C sort | cksum | tr ' ' '-')
INSTALLED := .venv/installed.stamp
LINKED := build/linked-$(FILES).stamp

.PHONY: verify test env wheel-check clean
.DELETE_ON_ERROR:

verify: $(LINKED)
	@$(BIN)/rankproof verify

test: $(LINKED)
	@echo "lint";    $(BIN)/ruff check --quiet .
	@echo "format";  $(BIN)/ruff format --quiet --check .
	@echo "types";   MYPYPATH="$$(echo build/__editable__.*)" $(BIN)/mypy -p rankproof -p tests
	@echo "imports"; cd .venv && bin/lint-imports --no-logo ../pyproject.toml
	@echo "tests";   $(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder

env: $(LINKED)

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("rankproof needs Python 3.11 or newer: make PYTHON=...")'
	@$(PIP) --version >/dev/null 2>&1 || { echo "creating .venv"; $(PYTHON) -m venv --clear .venv; }
	@echo "installing the pinned packages (a minute or two the first time)"
	@$(INSTALL) setuptools
	@$(INSTALL) $(EDITABLE) '.[dev,bench]'
	@rm -f build/linked-*.stamp
	@touch $@ $(LINKED)

$(LINKED): $(INSTALLED)
	@if [ ! -e $@ ]; then echo "linking the sources"; $(INSTALL) --no-deps $(EDITABLE) .; fi
	@$(BIN)/python -m compileall -q build/__editable__*
	@rm -f build/linked-*.stamp
	@touch $@

wheel-check: $(LINKED)
	@.ci/wheel-check $(BIN)/python

clean:
	rm -rf .venv build rankproof.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find $(ROOMS) tests -name __pycache__ -prune -exec rm -rf {} +
