# Everything runs in .venv, which the first target that needs it builds.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
# a folder of recorded webs, for `make lab`
WEBS ?=

.PHONY: demo test lint lab study-apprentice study-paths study-lexical bench bench-frontier bench-stages bench-strategies clean

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(VENV)/ready
	$(BIN)/forager demo

test: $(VENV)/ready lint
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lab: $(VENV)/ready
	$(BIN)/forager lab matrix docs/lab/matrix.toml --jobs $(JOBS) $(if $(WEBS),--webs $(WEBS))

study-apprentice: $(VENV)/ready
	$(BIN)/python -m studies apprentice --web ../shared/data/wikispeedia --out docs/lab/apprentice --jobs $(JOBS)

study-paths: $(VENV)/ready
	$(BIN)/python -m studies paths --courses ../shared/data/webkb --web ../shared/data/wikispeedia --out docs/lab/paths --jobs $(JOBS)

study-lexical: $(VENV)/ready
	$(BIN)/python -m studies lexical --web ../shared/data/wikispeedia --out docs/lab/lexical --jobs $(JOBS)

bench: $(VENV)/ready
	$(BIN)/python -m bench.crawl

bench-frontier: $(VENV)/ready
	$(BIN)/python -m bench.frontier

bench-strategies: $(VENV)/ready
	$(BIN)/python -m bench.strategies

bench-stages: $(VENV)/ready
	$(BIN)/python -m bench.stages

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
