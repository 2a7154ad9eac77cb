# Every target sets itself up: make, python3 (>= 3.11) and a package index are all it needs.
.PHONY: reproduce test fuzz bench bench-data examples example-rl docs format clean
PYTHON ?= python3
BIN = .venv/bin

# ARGS="--quick" shows it work in a minute; ARGS="--seeds 10" goes on to more seeds.
reproduce: .venv/.kenyon
	$(BIN)/kenyon reproduce $(ARGS)

test: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest

# Spoilt files for every reader; ARGS="--reader models --files 100" for some of them.
fuzz: .venv/.test
	$(BIN)/python -m tests.reliability.fuzz $(ARGS)

bench: .venv/.bench
	$(BIN)/python benchmarks/simulation.py
	$(BIN)/python benchmarks/learning.py
	$(BIN)/python benchmarks/environments.py
	$(BIN)/python benchmarks/experiments.py

bench-data: .venv/.bench
	$(BIN)/python benchmarks/your_data.py

examples: .venv/.bench
	for one in digits_by_row japanese_vowels blood_pressure reservoirpy_states; do \
		$(BIN)/python examples/$$one.py || exit 1; done

example-rl: .venv/.examples
	$(BIN)/python examples/reinforcement.py

docs: .venv/.docs
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/pictures_your_data.py
	$(BIN)/mkdocs build --strict

format: .venv/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv site
	find . -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kenyon needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv .venv

# Stamps: the package alone, or with a set of extras; made again when the dependencies change.
.venv/.kenyon: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

.venv/.%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	touch $@
