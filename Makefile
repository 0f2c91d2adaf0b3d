# Every target works alone, on a fresh Debian or Ubuntu machine too: it makes .venv and builds first.
#   PYTHON=python3.12   the interpreter to make .venv with
#   TORCH=torch==2.9.0  a certain torch; without it one that PYTHON imports is kept
#   DATA=DIR            a folder of folders of images, for `make bench` and `make quickstart`
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV ?= .venv
PY := $(VENV)/bin/python
JOBS ?= $(shell nproc)
ENGINE := $(shell find csrc -name '*.cpp' -o -name '*.h' -o -name '*.cu')
CXX_FILES = $(shell find csrc tests/cpp tests/fuzz tools -name '*.cpp' -o -name '*.h' -o -name '*.cu')
export PYTHON TORCH
# Where `make dali` was run, the parity tests and benchmarks find it.
ifneq ($(wildcard .venv-dali/bin/python),)
export TORCHDALI_DALI_PYTHON ?= $(CURDIR)/.venv-dali/bin/python
endif
ifneq ($(wildcard .venv-peers/bin/python),)
export TORCHDALI_PEERS_PYTHON ?= $(CURDIR)/.venv-peers/bin/python
endif
export MAX_JOBS ?= $(JOBS)

.PHONY: help setup quickstart test test-fast test-gpu lint types format tidy generate sanitize fuzz \
  fuzz-jpeg bench bench-gpu docs build clean lint-tools dali peers

help: ## what there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

# Stamps in .venv make the second run quick. They depend on what was asked for, not on the clock.
SETUP := $(VENV)/.setup
SETUP_LINT := $(VENV)/.setup-lint
BUILT := $(VENV)/.built

$(SETUP): pyproject.toml tools/setup_env.sh tools/requirements.py
	@tools/setup_env.sh $(VENV) build test examples bench docs --optional peers
	@touch $@

$(SETUP_LINT): $(SETUP)
	@tools/setup_env.sh $(VENV) lint
	@touch $@

# The first build installs (editable), the later ones only compile what changed.
$(BUILT): $(SETUP) setup.py tools/install_editable.sh $(ENGINE)
	@tools/install_editable.sh $(PY)
	@touch $@

setup: $(SETUP) ## .venv with everything to build and test; apt packages where they are missing

build: $(SETUP) ## compile the engine; an editable install
	@tools/install_editable.sh $(PY)
	@touch $(BUILT)

quickstart: $(BUILT) ## train a classifier on handwritten digits, end to end (DATA=DIR: your images)
	$(PY) examples/train_classifier.py $(if $(DATA),--data $(DATA))

# What uses a GPU runs in processes of its own: none can be forked from one that has used CUDA.
test: $(BUILT) ## all tests that this machine can run
	$(PY) -m pytest -n $(JOBS) -m "not cuda" $(ARGS)
	@if $(PY) -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then \
	  $(PY) -m pytest -n $(JOBS) -m cuda $(ARGS) || [ $$? = 5 ]; fi  # 5: ARGS choose none of them

test-fast: $(BUILT) ## under a minute: no stress, no slow tests
	$(PY) -m pytest -n $(JOBS) -m "not slow and not stress and not cuda" $(ARGS)

test-gpu: $(SETUP) ## the CUDA tests; needs nvcc and a GPU; notes what ran, for `make generate`
	TORCHDALI_CUDA=1 tools/install_editable.sh $(PY)
	TORCHDALI_REQUIRE=cuda $(PY) -m pytest -n $(JOBS) -m cuda \
	  $(if $(ARGS),$(ARGS),--gpu-record tests/gpu/ran_on_gpu.json)
	@if command -v compute-sanitizer >/dev/null; then TORCHDALI_REQUIRE=cuda compute-sanitizer \
	  --error-exitcode 1 $(PY) -m pytest -q -m cuda tests/gpu/test_gpu_matches_cpu.py -k any_size; fi

lint: $(SETUP_LINT) types ## ruff, mypy --strict, clang-format; nothing is changed
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	PATH="$(VENV)/bin:$$PATH" clang-format --dry-run -Werror $(CXX_FILES)

lint-tools: $(SETUP_LINT)

types: $(SETUP_LINT)
	$(PY) -m mypy

format: $(SETUP_LINT) ## rewrite what the formatters would
	$(PY) -m ruff check --fix-only --quiet .
	$(PY) -m ruff format .
	PATH="$(VENV)/bin:$$PATH" clang-format -i $(CXX_FILES)

tidy: $(SETUP_LINT) $(BUILT) ## clang-tidy on the C++ files changed since main (FILES=... names others)
	$(PY) tools/tidy.py $(FILES)

generate: $(BUILT) ## stubs and reference pages from the operators' schemas
	$(PY) -m tools.docs.generate

sanitize: $(SETUP) ## tests/cpp under ASan+UBSan, then TSan
	$(PY) tools/sanitize.py --jobs $(JOBS) $(ARGS)

fuzz: $(SETUP) ## operators with random arguments under ASan+UBSan (ARGS="-- --examples 200 --seed 7")
	$(PY) tools/fuzz.py $(ARGS)

fuzz-jpeg: $(SETUP) ## the JPEG decoder under libFuzzer; needs clang (ARGS="--seconds 600 --update", --coverage)
	$(PY) tools/fuzz_jpeg.py $(ARGS)

bench: $(BUILT) ## benchmark against the peers found (DATA=DIR); one JSON and one table
	@test -n "$(DATA)" || { echo 'make bench DATA=DIR: a folder of (folders of) JPEG files'; exit 2; }
	$(PY) -m benchmarks.run --data $(DATA) $(ARGS)

bench-gpu: $(SETUP) ## the same on a GPU, into benchmarks/results/gpu (DATA=DIR)
	@test -n "$(DATA)" || { echo 'make bench-gpu DATA=DIR: a folder of JPEG files'; exit 2; }
	TORCHDALI_CUDA=1 tools/install_editable.sh $(PY)
	$(PY) -m benchmarks.gpu --data $(DATA) --out benchmarks/results/gpu/$$(date -u +%Y%m%dT%H%M%S).json $(ARGS)

docs: $(BUILT) ## reference pages, and the tables of README and docs from benchmarks/results
	$(PY) -m tools.docs.generate
	$(PY) -m benchmarks.report

dali: ## .venv-dali with real DALI 1.35.0, for parity tests and as a peer of the benchmarks
	@tools/setup_peer.sh .venv-dali dali

peers: ## .venv-peers with torchvision and SPDL (which wants FFmpeg), peers of the benchmarks
	@tools/setup_peer.sh .venv-peers rivals

clean: ## remove what was built; .venv stays
	rm -rf build dist out *.egg-info torchdali/*.so torchdali/_build_info.py $(BUILT)
