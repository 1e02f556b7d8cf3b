# make lab   try it: environment, front end, Hermes Agent, then JupyterLab on the quickstart
# make test  everything that is tested: linters, types, front end, Python, notebooks, browser
# make env   what both start with (a repeat does nothing and needs no network)
# make bench, make requirements, make fuzz, make clean

PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
DONE := .make
JOBS ?= 2
LINK := $(VENV)/share/jupyter/labextensions/jupyter-hermes-chat
PIP = $(BIN)/python -m pip install --quiet --progress-bar off
export PIP_DISABLE_PIP_VERSION_CHECK := 1

FRONT_END := $(shell find js/src -type f) js/package.json js/package-lock.json js/build.mjs js/tsconfig.json
# Tests have Jupyter folders of their own, so they are told where Hermes Agent is; a HERMES_PYTHON that is set wins.
HERMES = export HERMES_PYTHON=$${HERMES_PYTHON:-$$($(BIN)/jupyter-hermes-chat setup --print-interpreter)};
say = @printf '\n\033[1m[%s] %s\033[0m\n' "$$(date +%H:%M:%S)" $(1)

.PHONY: env lab test lint types front-end-test python-test notebook-test bench fuzz requirements chromium clean

env: $(DONE)/front-end $(DONE)/python $(DONE)/hermes

$(DONE)/venv:
	@mkdir -p $(DONE)
	$(call say,"1/4 Python environment in $(VENV) (a few seconds)")
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "This Python cannot make environments. On Debian: apt install python3-venv"; exit 1; }
	@command -v npm >/dev/null || { echo "Node 20 with npm is needed to build the front end: https://nodejs.org"; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) 'jupyter-builder>=1.3'
	@touch $@

$(DONE)/node: $(DONE)/venv js/package.json js/package-lock.json
	$(call say,"2/4 front end: packages (about 15 seconds)")
	@cd js && PATH="$(BIN):$$PATH" npm ci --no-audit --no-fund --no-update-notifier --loglevel=error
	@touch $@

$(DONE)/front-end: $(DONE)/node $(FRONT_END)
	$(call say,"2/4 front end: build (about 10 seconds)")
	@cd js && PATH="$(BIN):$$PATH" npm run --silent build
	@touch $@

# After the front end, which the package's own build would make once more otherwise.
$(DONE)/python: $(DONE)/venv pyproject.toml | $(DONE)/front-end
	$(call say,"3/4 Python packages and this project (about a minute)")
	@rm -rf $(LINK)  # or pip would write its files through the link that the last line makes
	@SKIP_JUPYTER_BUILDER=1 $(PIP) -e '.[test]'
	@$(BIN)/jupyter-builder develop . --overwrite >/dev/null
	@touch $@

$(DONE)/hermes: $(DONE)/python
	$(call say,"4/4 Hermes Agent in an environment of its own (about half a minute)")
	@$(BIN)/jupyter-hermes-chat setup
	@touch $@

chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    printf '\n\033[1m%s\033[0m\n' "Chromium from Debian's packages (about 40 seconds)"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-noto-cjk >/dev/null; \
	  else echo "No Chromium here: the browser tests will be skipped (Debian: apt install chromium)"; fi; }

lab: env
	$(call say,"JupyterLab on notebooks/quickstart.ipynb (Ctrl+C ends it)")
	@$(BIN)/python tools/lab.py

test: env chromium lint types front-end-test python-test notebook-test
	$(call say,"All tests passed.")

lint: env
	$(call say,"Linters")
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@cd js && npm run --silent lint

types: env
	$(call say,"Types")
	@$(BIN)/mypy

front-end-test: env
	$(call say,"Front-end tests")
	@cd js && npm test --silent

python-test: env chromium
	$(call say,"Python and browser tests")
	@$(HERMES) $(BIN)/python -m pytest -n $(JOBS) --durations=10

notebook-test: env
	$(call say,"Notebooks run again and compare")
	@$(HERMES) $(BIN)/python tools/isolated.py $(BIN)/python -m pytest --nbval notebooks -p no:cacheprovider

bench: env
	@$(HERMES) $(BIN)/python -m tests.bench

fuzz: env
	@$(HERMES) HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest -n $(JOBS) --timeout 3600 tests/store tests/protocol tests/test_tree.py

requirements: env
	@$(BIN)/python -m tests.requirements

clean:
	rm -rf $(VENV) $(DONE) js/node_modules js/lib jupyter_hermes_chat/static jupyter_hermes_chat/labextension
