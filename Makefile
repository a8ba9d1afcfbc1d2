# Everything runs in .venv, which the first target that needs it builds.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
# made-up inputs of all kinds together, for `make fuzz`
INPUTS ?= 1000000
# a folder of recorded webs, for `make lab` and the studies
WEBS ?=
# of the web that `make soak` crawls
PAGES ?= 200000

.PHONY: demo test lint lab study-webs study-apprentice study-paths study-lexical bench bench-frontier bench-stages bench-strategies soak clean

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

.PHONY: docs
docs: $(VENV)/ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

lab: $(VENV)/ready
	$(BIN)/forager lab matrix docs/lab/matrix.toml --jobs $(JOBS) $(if $(WEBS),--webs "$(WEBS)")

# The studies need recorded webs: WEBS is a folder that holds wikispeedia and webkb.
study-webs:
	@test -n "$(WEBS)" || { echo "name the folder that holds wikispeedia and webkb: make $(MAKECMDGOALS) WEBS=DIR" >&2; exit 2; }

# the weights of the default strategy; half an hour
.PHONY: pretrain
pretrain: study-webs $(VENV)/ready
	$(BIN)/python -m forager_lab.pretraining --webs "$(WEBS)" --rounds 2 --jobs $(JOBS) src/forager/strategies/weigher/weights.json

# the word vectors, from those of wordllama
.PHONY: vectors
vectors: $(VENV)/ready
	$(BIN)/python -m forager_lab.word_vectors src/forager/learn/vectors.npz

# how much a plain install takes, in MB; it needs a registry of packages
.PHONY: size
size: $(VENV)/ready
	$(BIN)/python -m bench.install_size

study-apprentice: study-webs $(VENV)/ready
	$(BIN)/python -m studies apprentice --web "$(WEBS)/wikispeedia" --jobs $(JOBS)

study-lexical: study-webs $(VENV)/ready
	$(BIN)/python -m studies lexical --web "$(WEBS)/wikispeedia" --jobs $(JOBS)

study-paths: study-webs $(VENV)/ready
	$(BIN)/python -m studies paths --courses "$(WEBS)/webkb" --web "$(WEBS)/wikispeedia" --jobs $(JOBS)

bench: $(VENV)/ready
	$(BIN)/python -m bench.crawl

# a hostile web beside good hosts; it needs Linux, and some minutes
.PHONY: faults
faults: $(VENV)/ready
	$(BIN)/python -m bench.faults

bench-frontier: $(VENV)/ready
	$(BIN)/python -m bench.frontier

# needs a folder that holds uic, else it crawls made-up webs only; with uic about 25 minutes
.PHONY: bench-choosy
bench-choosy: $(VENV)/ready
	$(BIN)/python -m bench.choosy $(if $(WEBS),--webs "$(WEBS)") $(if $(STRATEGY),--strategy "$(STRATEGY)")

bench-strategies: $(VENV)/ready
	$(BIN)/python -m bench.strategies

bench-stages: $(VENV)/ready
	$(BIN)/python -m bench.stages

# hours, with 200,000 pages
soak: $(VENV)/ready
	$(BIN)/python -m bench.soak --pages $(PAGES)

.PHONY: fuzz
fuzz: $(VENV)/ready
	$(BIN)/python -m bench.fuzz --inputs $(INPUTS) --jobs $(JOBS)

clean:
	rm -rf $(VENV) site .mypy_cache .ruff_cache .pytest_cache
