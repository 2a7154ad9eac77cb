# Every target sets itself up: make, python3 (>= 3.11) and a package index are all it needs.
.PHONY: test bench example-rl docs format clean
PYTHON ?= python3
BIN = .venv/bin

test: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest

bench: .venv/.bench
	$(BIN)/python benchmarks/simulation.py
	$(BIN)/python benchmarks/learning.py
	$(BIN)/python benchmarks/environments.py

example-rl: .venv/.examples
	$(BIN)/python examples/reinforcement.py

docs: .venv/.docs
	$(BIN)/python docs/pictures.py
	$(BIN)/mkdocs build --strict

format: .venv/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv site
	find . -name __pycache__ -prune -exec rm -rf {} +

# A stamp for each set of extras, made again when the dependencies change.
.venv/.%: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kenyon needs Python 3.11 or newer; set PYTHON=")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	touch $@
