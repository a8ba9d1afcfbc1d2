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

# the first folder of recorded webs that there is; weights of the default strategy are learnt there
RECORDED = $(or $(WEBS),$(firstword $(subst :, ,$(FORAGER_WEBS))))
# weights of the default strategy that have not seen a web or a topic
LEFT_OUT := .lab/left-out

# Without recorded webs nothing can be left out, and only made-up webs are crawled.
lab: $(VENV)/ready $(if $(RECORDED),$(LEFT_OUT)/ready)
	$(BIN)/forager lab matrix docs/lab/matrix.toml --jobs $(JOBS) $(if $(WEBS),--webs "$(WEBS)") \
		$(if $(wildcard $(LEFT_OUT)/ready)$(RECORDED),,--left-out none)

# what the default strategy is worth: docs/lab/default.md
.PHONY: evidence left-out ablated
evidence: $(VENV)/ready $(LEFT_OUT)/ready $(LEFT_OUT)/ablated
	$(BIN)/forager lab evidence docs/lab/default.toml --jobs $(JOBS) $(if $(WEBS),--webs "$(WEBS)")

# Some minutes. What was noted in the crawls is kept in noted.npz; while it is there, nothing is crawled again.
left-out: $(LEFT_OUT)/ready
$(LEFT_OUT)/ready: | $(VENV)/ready
	@test -n "$(RECORDED)" || { echo "name the folder that holds wikispeedia, uic and webkb: make $(MAKECMDGOALS) WEBS=DIR" >&2; exit 2; }
	$(BIN)/python -m forager_lab.pretraining --webs "$(RECORDED)" --rounds 1 --jobs $(JOBS) \
		--left-out $(LEFT_OUT) --noted $(LEFT_OUT)/noted.npz $(LEFT_OUT)/everything.json
	touch $@

ablated: $(LEFT_OUT)/ablated
$(LEFT_OUT)/ablated: $(LEFT_OUT)/ready docs/lab/default.toml
	$(BIN)/python -m forager_lab.ablation docs/lab/default.toml $(if $(WEBS),--webs "$(WEBS)")
	touch $@

# The studies need recorded webs: WEBS is a folder that holds wikispeedia and webkb.
study-webs:
	@test -n "$(WEBS)" || { echo "name the folder that holds wikispeedia and webkb: make $(MAKECMDGOALS) WEBS=DIR" >&2; exit 2; }

# the weights of the default strategy, and from the same crawls those that are left out; some minutes
.PHONY: pretrain
pretrain: study-webs $(VENV)/ready
	rm -rf $(LEFT_OUT)
	$(BIN)/python -m forager_lab.pretraining --webs "$(WEBS)" --rounds 1 --jobs $(JOBS) \
		--left-out $(LEFT_OUT) --noted $(LEFT_OUT)/noted.npz src/forager/strategies/weigher/weights.json
	touch $(LEFT_OUT)/ready

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
