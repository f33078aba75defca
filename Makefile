# Everyday commands: `make` alone lists them. All but `setup` use what it installs.
PYTHON := .venv/bin/python
NPM_INSTALL := npm install --ignore-scripts --no-audit --no-fund --no-package-lock --silent

.PHONY: help setup fast full check docs bench mutants
help:
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 10

setup: ## install all that the full suite needs: into .venv, and for Node.js and the frameworks of agents
	python3 -m venv .venv && .venv/bin/pip install --quiet 'pip>=25.1'
	.venv/bin/pip install --quiet --constraint constraints.txt --editable '.[local]' --group full
	.venv/bin/counterpoint models install
	cd tests/node && $(NPM_INSTALL)
	cd tests/clients/hosts && $(NPM_INSTALL)
	bash tests/clients/frameworks/install.sh

fast: ## run the fast tests
	$(PYTHON) -m pytest -n 2 --dist worksteal

full: ## run all tests
	$(PYTHON) -m pytest -n 2 --dist worksteal -m full

check: ## check format, lint and types, as CI does first
	.venv/bin/ruff format --check . && .venv/bin/ruff check . && .venv/bin/mypy

docs: ## write the generated documentation, and the site into site
	$(PYTHON) -m docs.generate && $(PYTHON) -m docs.site

bench: ## run the benchmarks
	$(PYTHON) -m benchmarks

mutants: ## break 20 random lines, one at a time, and see which tests fail
	$(PYTHON) -m tests.mutants --number 20
