# Everything below sets itself up: the first call makes a virtual environment in .venv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check bench clean

demo: .venv/installed
	$(BIN)/likely demo

test: check
	$(BIN)/pytest -n 2 tests

check: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q --doctest-glob="*.md" src README.md docs

bench: .venv/installed
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[bench]"
	$(BIN)/python benchmarks/gaussian.py
	$(BIN)/python benchmarks/least_squares.py
	$(BIN)/python benchmarks/perceptron.py
	$(BIN)/python benchmarks/evaluation.py
	$(BIN)/python benchmarks/logistic.py
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/mixtures.py
	$(BIN)/python benchmarks/svm.py
	$(BIN)/python benchmarks/report.py

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
