# What a change needs, by name: `make` lists the targets. Cheapest first: lint, test, check, bench.
.DEFAULT_GOAL := help
.PHONY: help dev test test-rust lint format stubs docs bench check clean

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

dev: | $(BIN)/maturin  ## build into .venv, optimized but without link-time optimization
	. $(BIN)/activate && maturin develop --profile quick --extras dev,test,examples

test: dev  ## all Python tests
	$(BIN)/pytest

test-rust:  ## all Rust tests of the core, no Python needed
	cargo test --no-default-features

lint: | $(BIN)/ruff  ## formatting and lints of both languages
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	cargo clippy --all-targets --no-default-features -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m mypy python/rgrad

format: | $(BIN)/ruff  ## format both languages
	cargo fmt
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

stubs: dev  ## write python/rgrad/_rgrad.pyi anew and check it against the compiled module
	$(BIN)/python tests/tools/make_stubs.py
	$(BIN)/python -m mypy.stubtest rgrad._rgrad --ignore-disjoint-bases

docs:  ## the Rust documentation, warnings denied
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps

bench: dev  ## Rust benchmarks, then Python side by side with what is installed (ARGS=... is passed on)
	cargo bench --no-default-features
	$(BIN)/python benches/python/compare.py $(ARGS)

check:  ## everything that continuous integration runs, in a virtual environment of its own
	.ci/run

clean:  ## remove what was built
	cargo clean
	rm -rf $(VENV) .venv-ci dist python/rgrad/*.so

$(BIN)/maturin $(BIN)/ruff:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet 'maturin>=1.9.4,<2' 'ruff==0.17.*'
