# Every target works on its own, also on a fresh Debian or Ubuntu machine: it creates .venv and
# builds first.
#   PYTHON=python3.12   interpreter for .venv
#   TORCH=torch==2.9.0  version of torch; default: the one that PYTHON can import
#   DATA=DIR            folder of folders of images, for `make bench` and `make quickstart`
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV ?= .venv
PY := $(VENV)/bin/python
JOBS ?= $(shell nproc)
VERSION ?= $(shell sed -n 's/^version = "\([0-9]*\.[0-9]*\).*/\1/p' pyproject.toml)
ENGINE := $(shell find csrc -name '*.cpp' -o -name '*.h' -o -name '*.cu')
CXX_FILES = $(shell find csrc tests/cpp tests/fuzz tools -name '*.cpp' -o -name '*.h' -o -name '*.cu')
export PYTHON TORCH
# Tests and benchmarks find the environments of `make dali`, `make torchvision` and `make peers` here.
ifneq ($(wildcard .venv-dali/bin/python),)
export TORCHDALI_DALI_PYTHON ?= $(CURDIR)/.venv-dali/bin/python
endif
ifneq ($(wildcard .venv-torchvision/bin/python),)
export TORCHDALI_TORCHVISION_PYTHON ?= $(CURDIR)/.venv-torchvision/bin/python
endif
ifneq ($(wildcard .venv-peers/bin/python),)
export TORCHDALI_PEERS_PYTHON ?= $(CURDIR)/.venv-peers/bin/python
endif
ifneq ($(wildcard .venv-elastic/bin/python),)
export TORCHDALI_ELASTIC_PYTHON ?= $(CURDIR)/.venv-elastic/bin/python
endif
ifneq ($(wildcard .venv-field/bin/python),)
export TORCHDALI_FIELD_PYTHON ?= $(CURDIR)/.venv-field/bin/python
endif
export MAX_JOBS ?= $(JOBS)

.PHONY: help setup quickstart test test-fast test-gpu lint types format tidy generate sanitize fuzz \
  fuzz-jpeg fuzz-parser coverage mutants bench bench-gpu bench-elastic bench-field docs site site-version build wheel test-wheel \
  test-cross clean lint-tools browser dali peers elastic-peers field-peers torchvision

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

# Stamp files in .venv, so that later runs skip these steps.
SETUP := $(VENV)/.setup
SETUP_LINT := $(VENV)/.setup-lint
SETUP_DOCS := $(VENV)/.setup-docs
BUILT := $(VENV)/.built

$(SETUP): pyproject.toml tools/setup_env.sh tools/requirements.py
	@tools/setup_env.sh $(VENV) build test examples bench --optional peers
	@touch $@

$(SETUP_LINT): $(SETUP)
	@tools/setup_env.sh $(VENV) lint
	@touch $@

$(SETUP_DOCS): $(SETUP)
	@tools/setup_env.sh $(VENV) docs
	@touch $@

# The first build installs the checkout as editable; later ones only compile what changed.
$(BUILT): $(SETUP) setup.py tools/install_editable.sh $(ENGINE)
	@tools/install_editable.sh $(PY)
	@touch $@

setup: $(SETUP) ## create .venv with everything to build and test; install missing apt packages

build: $(SETUP) ## compile the engine and install it as editable
	@tools/install_editable.sh $(PY)
	@touch $(BUILT)

quickstart: $(BUILT) ## train a classifier on handwritten digits (DATA=DIR: on your images)
	$(PY) examples/train_classifier.py $(if $(DATA),--data $(DATA))

# CUDA tests run separately, because a process that has used CUDA cannot be forked.
test: $(BUILT) ## run all tests that this machine can run
	$(PY) -m pytest -n $(JOBS) -m "not cuda" $(ARGS)
	@if $(PY) -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then \
	  $(PY) -m pytest -n $(JOBS) -m cuda $(ARGS) || [ $$? = 5 ]; fi  # 5: ARGS select none

test-fast: $(BUILT) ## run the quick tests, without DALI; takes a minute
	$(PY) -m pytest -n $(JOBS) -m "not slow and not stress and not cuda and not dali" $(ARGS)

test-gpu: $(SETUP) ## run the CUDA tests and record them for `make generate`; needs nvcc and a GPU
	TORCHDALI_CUDA=1 tools/install_editable.sh $(PY)
	TORCHDALI_REQUIRE=cuda $(PY) -m pytest -n $(JOBS) -m cuda \
	  $(if $(ARGS),$(ARGS),--gpu-record tests/gpu/ran_on_gpu.json)
	@if command -v compute-sanitizer >/dev/null; then TORCHDALI_REQUIRE=cuda compute-sanitizer \
	  --error-exitcode 1 $(PY) -m pytest -q -m cuda tests/gpu/test_gpu_matches_cpu.py -k any_size; fi

lint: $(SETUP_LINT) types ## check with ruff, mypy --strict and clang-format
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	@PATH="$(VENV)/bin:$$PATH" clang-format --dry-run -Werror $(CXX_FILES)

lint-tools: $(SETUP_LINT)

types: $(SETUP_LINT)
	$(PY) -m mypy

format: $(SETUP_LINT) ## format Python and C++, apply ruff's fixes, remove outputs of notebooks
	$(PY) -m ruff check --fix-only --quiet .
	$(PY) -m ruff format .
	$(PY) -m tools.docs.notebooks
	PATH="$(VENV)/bin:$$PATH" clang-format -i $(CXX_FILES)

tidy: $(SETUP_LINT) $(BUILT) ## run clang-tidy on C++ files changed since main (or FILES=...)
	$(PY) tools/tidy.py $(FILES)

generate: $(BUILT) ## write stubs and reference pages from the operators' schemas
	$(PY) -m tools.docs.generate

sanitize: $(SETUP) ## run tests/cpp under ASan+UBSan, then TSan
	$(PY) tools/sanitize.py --jobs $(JOBS) $(ARGS)

fuzz: $(SETUP) ## fuzz operators under ASan+UBSan (ARGS="-- --examples 200 --seed 7")
	$(PY) tools/fuzz.py $(ARGS)

fuzz-jpeg: $(SETUP) ## fuzz the JPEG decoder; needs clang (ARGS="--seconds 600 --update", --coverage)
	$(PY) tools/fuzz_jpeg.py $(ARGS)

fuzz-parser: $(SETUP) ## fuzz a parser of tests/fuzz; needs clang (ARGS="json --seconds 600 --update")
	$(PY) tools/fuzz_parser.py $(ARGS)

wheel: $(SETUP) ## build wheels for glibc 2.28 in dist/ and check them (ARCH=aarch64: cross-compile)
	@tools/setup_env.sh $(VENV) wheel
	$(PY) -m tools.manylinux $(if $(ARCH),--arch $(ARCH)) $(ARGS)

test-wheel: $(SETUP) ## test a wheel outside of the checkout (WITH=torch==2.11.0, ARGS="-- -k resize")
	$(PY) -m tools.manylinux.install $(if $(WITH),--torch $(WITH)) $(ARGS)

test-cross: $(SETUP) ## run tests/cpp as aarch64, under qemu
	@tools/setup_env.sh $(VENV) wheel
	$(PY) -m tools.manylinux.emulate --jobs $(JOBS)

coverage: $(SETUP) ## measure the lines and branches that the tests run, Python and C++ (ARGS="-- -k resize")
	@tools/setup_env.sh $(VENV) coverage
	$(PY) tools/measure_coverage.py --jobs $(JOBS) $(ARGS)

mutants: $(BUILT) ## put small faults into the code, one at a time, and see which the tests find (ARGS="--area gpu", --check)
	$(PY) tools/mutants.py --jobs $(JOBS) $(ARGS)

bench: $(BUILT) ## run the benchmarks with the installed peers (DATA=DIR); writes a JSON file
	@test -n "$(DATA)" || { echo 'usage: make bench DATA=DIR (a folder with JPEG files, at any depth)'; exit 2; }
	$(PY) -m benchmarks.run --data $(DATA) $(ARGS)

bench-gpu: $(SETUP) ## run the GPU benchmarks (DATA=DIR); writes to benchmarks/results/gpu
	@test -n "$(DATA)" || { echo 'usage: make bench-gpu DATA=DIR (a folder with JPEG files)'; exit 2; }
	TORCHDALI_CUDA=1 tools/install_editable.sh $(PY)
	$(PY) -m benchmarks.gpu --data $(DATA) --out benchmarks/results/gpu/$$(date -u +%Y%m%dT%H%M%S).json $(ARGS)

bench-elastic: $(BUILT) ## kill and resume loaders (ARGS="torchdali --kills 4"); writes to benchmarks/results/elastic
	$(PY) -m benchmarks.elastic $(ARGS)

bench-field: $(BUILT) ## run the benchmarks of other projects (DATA=DIR); writes to benchmarks/results/field
	@test -n "$(DATA)" || { echo 'usage: make bench-field DATA=DIR (a folder with JPEG files)'; exit 2; }
	$(PY) -m benchmarks.field --data $(DATA) $(ARGS)

docs: $(BUILT) ## write reference pages, and benchmark tables in README and docs
	$(PY) -m tools.docs.generate
	$(PY) -m benchmarks.report

site: $(SETUP_DOCS) $(BUILT) ## build the documentation site in build/site, and check its links (ARGS=-q)
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build $(ARGS)

site-version: $(SETUP_DOCS) $(BUILT) ## commit the site as that of this version to the branch gh-pages (VERSION=0.1)
	NO_MKDOCS_2_WARNING=1 PATH="$(VENV)/bin:$$PATH" mike deploy --update-aliases --alias-type redirect $(VERSION) latest
	PATH="$(VENV)/bin:$$PATH" mike set-default latest

dali: ## create .venv-dali with real DALI 1.35.0, for parity tests and benchmarks
	@tools/setup_peer.sh .venv-dali dali

browser: $(SETUP) ## install Chromium and Playwright, for tests/browser
	@tools/setup_env.sh $(VENV) browser

torchvision: $(SETUP) ## create .venv-torchvision, with the torch of .venv, for tests against torchvision
	@tools/setup_torchvision.sh .venv-torchvision $(PY)

peers: ## create .venv-peers with torchvision and SPDL (needs FFmpeg), for benchmarks
	@tools/setup_peer.sh .venv-peers rivals

elastic-peers: $(SETUP) ## create .venv-elastic with loaders that can be resumed, with the torch of .venv
	@tools/setup_peer.sh .venv-elastic elastic-peers $(PY)

field-peers: peers ## create .venv-field with peers of bench-field; FFCV also needs libopencv-dev and libturbojpeg0-dev
	@tools/setup_peer.sh .venv-field field-peers .venv-peers/bin/python
	@tools/setup_ffcv.sh .venv-field || echo "FFCV cannot be built here; bench-field leaves it out"

clean: ## remove build results, except .venv
	rm -rf build dist out *.egg-info torchdali/*.so torchdali/_build_info.py $(BUILT)
