# `make demo` shows the main job, `make test` runs every check. Both set up what they need, once.
# PYTHON=/path/to/python chooses another interpreter.

export PIP_DISABLE_PIP_VERSION_CHECK = 1
export PYTHONDONTWRITEBYTECODE =# empty: what one process of the tests compiled, the others read

SUITABLE := 'import sys, venv; sys.exit(sys.version_info < (3, 11))'
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	if $$p -c $(SUITABLE) 2>/dev/null; then echo $$p; break; fi; done)
ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
else
BIN := .venv/bin
endif
LOCK := requirements/dev.txt

.PHONY: help install demo test house packages soak bench docs dist lock clean

help:
	@echo "make demo     ask three private questions of a sample, and say how to open it in a browser"
	@echo "make test     lint, types, import contracts and tests"
	@echo "make install  only make the environment .venv"
	@echo "make house    figures of the source tree: size, imports, folders, cycles"
	@echo "make soak     the longer checks"
	@echo "make bench    measure speed"
	@echo "make docs     build the documentation into site/"
	@echo "make dist     build wheel and sdist into dist/"
	@echo "make clean    remove what was built"

install: .venv/.installed

demo: .venv/.installed
	@$(BIN)/obverse demo --out .demo --ask

# Three processes for two cores: one has all tests of Spark, and the others wait for disks as often as they compute.
test: .venv/.developing packages
	$(BIN)/ruff check src tests bench
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.house
	$(BIN)/python -m pytest -n 3 -m "not soak"

# Debian packages that tests need; in continuous integration they are installed, elsewhere those tests skip by name.
packages:
	@if [ "$$CI" = true ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	dpkg -s $$(cat .ci/apt.txt) >/dev/null 2>&1 || \
	{ apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $$(cat .ci/apt.txt); }; fi
	@if [ "$$CI" = true ] && command -v npm >/dev/null && [ ! -d web/node_modules ]; then \
	cd web && npm ci --silent || echo "the page's packages cannot be had: its rebuild and axe-core are skipped by name"; fi

house: .venv/.developing
	@$(BIN)/python -m tests.house --list

soak: .venv/.developing
	$(BIN)/python -m pytest -n 2 -m soak

bench: .venv/.developing
	$(BIN)/python bench/run.py

docs: .venv/.developing
	$(BIN)/zensical build --clean
	@echo "Open site/index.html; its search needs a server: $(BIN)/python -m http.server -b 127.0.0.1 -d site"

dist: .venv/.developing
	$(BIN)/python -m build --no-isolation --outdir dist

lock: .venv/.developing
	@{ echo "# The versions that the tests ran with, for \`pip install -c\`. Made by \`make lock\`."; \
	$(BIN)/pip freeze --exclude-editable --exclude obverse; } > $(LOCK).new && mv $(LOCK).new $(LOCK)

clean:
	rm -rf .venv dist build site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

.venv/.made:
	@if [ -z "$(PYTHON)" ] || ! $(PYTHON) -c $(SUITABLE); then \
	echo "Obverse needs Python 3.11 or later with its venv module, and found none." >&2; \
	echo "Install one, or name it: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; fi
	@echo "Making .venv with $(PYTHON) (once; a minute or two)"
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/.installed: pyproject.toml $(LOCK) | .venv/.made
	@$(BIN)/python -m pip install --quiet -c $(LOCK) -e .
	@touch $@

.venv/.developing: pyproject.toml $(LOCK) | .venv/.made
	@$(BIN)/python -m pip install --quiet -c $(LOCK) -e '.[dev]'
	@touch .venv/.installed $@
