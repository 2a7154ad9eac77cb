# Every target sets itself up: make, python3 (>= 3.11) and a package index are all it needs.
.PHONY: reproduce readings baseline controls capacity test lint kernels test-lowest test-newest lock soak fuzz bench bench-data bench-streams bench-forecast examples example-rl docs dist format clean
PYTHON ?= python3
BIN = .venv/bin
TEST = bin/pytest --numprocesses 2 --dist loadfile
INSTALL = bin/python -m pip install --quiet --disable-pip-version-check

# ARGS="--quick" shows it at work in a minute or two; ARGS="--seeds 20" adds more seeds.
reproduce: .venv/.kenyon
	$(BIN)/kenyon reproduce $(ARGS)

# Every claim in every reading of what the paper leaves open; ARGS="--only 'target 20'" for one of them.
readings: .venv/.kenyon
	$(BIN)/kenyon readings $(ARGS)

# Whether the plain readout, as `make reproduce` tuned it, is at its best on seeds used for nothing else; about ten minutes.
baseline: .venv/.kenyon
	$(BIN)/python benchmarks/baseline.py reproduction $(ARGS)

# Other rules for the weights on the same states, in about twenty minutes: docs/controls.md.
controls: .venv/.kenyon
	$(BIN)/python benchmarks/controls.py $(ARGS)

# How many odours networks store, online, offline and at best, in about forty minutes on two cores: docs/capacity.md.
# ARGS="--quick" shows it at work in a minute; ARGS="--neurons 250 --seeds 1" runs a part of it.
capacity: .venv/.kenyon
	$(BIN)/python benchmarks/capacity.py $(ARGS)

# Checks of the text take one core; meanwhile the other compiles kernels.
test: .venv/.test
	$(MAKE) --jobs 2 lint kernels
	.venv/$(TEST)

lint: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

kernels: .venv/.test
	$(BIN)/python tests/compile.py

# The tests with the lowest versions that pyproject.toml allows (on Python 3.11; old packages warn about one another),
# and with the newest available, without aeon, which holds Numba and NumPy back.
test-lowest: .venv-lowest/.test
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-lowest/kernels \
		.venv-lowest/$(TEST) -W ignore::DeprecationWarning -W ignore::FutureWarning

test-newest: | .venv-newest/bin/python
	.venv-newest/$(INSTALL) --upgrade --upgrade-strategy eager -e '.[test]'
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-newest/kernels .venv-newest/$(TEST)

# Lock the versions that the tests run with, and the hashes of their wheels, for every platform.
COMPILE = UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile pyproject.toml --quiet --upgrade --extra test \
	--extra data --python-version 3.11 --only-binary :all: --generate-hashes --no-annotate --output-file
lock: .venv/.dev
	$(COMPILE) requirements/test.txt --universal
	$(COMPILE) requirements/lowest.txt --resolution lowest-direct --python-platform linux

# Ten million episodes, and as many rows of a stream, next to their oracles, in about twenty minutes; ARGS="--json figures.json" keeps the figures.
soak: .venv/.test
	$(BIN)/python -m tests.reliability.soak $(ARGS)
	$(BIN)/python -m tests.reliability.soak_streams

# Damaged files for every reader; ARGS="--reader models --files 100" for some of them.
fuzz: .venv/.test
	$(BIN)/python -m tests.reliability.fuzz $(ARGS)

bench: .venv/.peers
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/learning.py
	$(BIN)/python benchmarks/fitting.py
	$(BIN)/python benchmarks/environments.py
	$(BIN)/python benchmarks/experiments.py

# Learners on eleven sets; then 59 sets of series next to aeon's models and ReservoirPy: docs/series.md. A stopped run goes on where it was.
bench-data: .venv/.bench
	$(BIN)/python benchmarks/your_data.py
	$(BIN)/python benchmarks/series.py $(ARGS)

# River's data sets and models next to ours, and drifts, in about half an hour: docs/streams.md. A stopped run goes on where it was.
bench-streams: .venv/.bench
	$(BIN)/python benchmarks/streams.py
	$(BIN)/python benchmarks/drifts.py

# Series step by step next to ReservoirPy, in about twenty minutes: docs/forecasting.md.
bench-forecast: .venv/.bench
	$(BIN)/python benchmarks/forecast.py $(ARGS)

examples: .venv/.bench
	for example in digits_by_row japanese_vowels blood_pressure drifting_odours forecasting reservoirpy_states; do \
		$(BIN)/python examples/$$example.py || exit 1; done

example-rl: .venv/.examples
	$(BIN)/python examples/reinforcement.py

docs: .venv/.docs
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/pictures_your_data.py
	$(BIN)/python docs/pictures_forecasting.py
	$(BIN)/mkdocs build --strict

# A wheel and a source package, checked; the wheel is then installed into an empty environment elsewhere and used there.
dist: .venv/.dist
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(BIN)/python tests/dist.py dist/*.whl

format: .venv/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .venv-* site dist
	find . -name __pycache__ -prune -exec rm -rf {} +

.venv/bin/python .venv-lowest/bin/python .venv-newest/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kenyon needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(@:/bin/python=)

# Stamps: the package alone, with an extra, or with the locked versions; renewed when the dependencies change.
.venv/.kenyon: pyproject.toml | .venv/bin/python
	.venv/$(INSTALL) -e .
	touch $@

.venv/.%: pyproject.toml | .venv/bin/python
	.venv/$(INSTALL) -e '.[$*]'
	touch $@

# Other systems to compare with, where they can be installed; other builds of torch bring gigabytes for graphics cards.
.venv/.peers: .venv/.bench
	for peer in torch==2.13.0 "jax>=0.5" pyrcn==0.1.0 rclib==0.2.0; do \
		.venv/$(INSTALL) "$$peer" || echo "$$peer cannot be installed here and is left out"; done
	touch $@

.venv/.test: requirements/test.txt | .venv/bin/python
.venv-lowest/.test: requirements/lowest.txt | .venv-lowest/bin/python
.venv/.test .venv-lowest/.test: pyproject.toml
	$(@D)/$(INSTALL) --require-hashes --only-binary :all: --requirement $(filter %.txt,$^)
	$(@D)/$(INSTALL) --no-deps --no-build-isolation -e .
	touch $@
