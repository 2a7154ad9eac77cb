"""One seed gives one result, to the bit, however the work is cut up: every item of the promise, in one place.

| what may vary | held to |
|---|---|
| threads, batch sizes of a stream | here; `test_reservoir::test_stream_does_not_depend_on_batches_and_threads` |
| where an episode sits among lanes | here; `test_reservoir::test_run_does_not_depend_on_company_order_or_threads` |
| a stream or a run of its inputs | `test_reservoir::test_noisy_stream_equals_the_run_of_its_own_inputs_to_the_bit` |
| how episodes are cut, for a learner | `learning/test_updates::test_updates_do_not_depend_on_how_episodes_are_cut` |
| which learners train together, their order, threads | here; `learning/test_training`, `experiment/test_trial` |
| threads of prelearning | here |
| one process or several, killed and started again; a cluster that loses a worker | `experiment/test_executor` |
| order of trials, a stop in between, a trial's threads, a cluster of threads | here, by digests of each file |
| threads of an estimator; its cache of states | `estimators/test_fitting` |
| saved and loaded; another process | here for learning gone on with; `test_saving` |
| versions of Numba, NumPy, SciPy and BLAS on one kind of processor | here, by the table of digests |
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import kenyon as kn
from kenyon.experiment.executor import run_experiment
from kenyon.experiment.store import Store
from kenyon.experiment.sweep import load_experiment
from kenyon.experiment.trial import execute, run_trial
from kenyon.kernels.pooling import Kept
from tests.experiment.conftest import SMALL
from tests.reliability import digests

ODOURS = kn.load_odours()
TASKS = {"static": kn.StaticTask(ODOURS, 20, seed=1, steps=8), "sequence": kn.SequenceTask(ODOURS, 1, seed=1, steps=4)}
RESERVOIR = kn.Reservoir(75, 0.1, seed=1)
LEARNERS = {
    "weights": kn.GradientWeights(eta_w=5e-4, batch=10),
    "thresholds": kn.GradientThresholds(),
    "metropolis": kn.Metropolis(start=0.2),
    "composed": kn.Composed(start=0.2),
    "normalised": kn.Normalised(),
    "by reward": kn.Composed(start=0.2, rule=kn.QLearning()),
    "per neuron": kn.Metropolis(search="per_neuron", start=0.2),
    "ridge": kn.Ridge(),
    "least squares": kn.RecursiveLeastSquares(),
    "recursive thresholds": kn.RecursiveThresholds(),
}


def gather(task, n, seed=3, **options):
    batches = list(RESERVOIR.stream(task, n, seed, **options))
    return [np.concatenate(parts) for parts in zip(*batches, strict=True)]


def assert_same_bytes(a, b):
    assert [array.tobytes() for array in a] == [array.tobytes() for array in b]


# --- simulation


@pytest.fixture(scope="module", params=TASKS)
def streamed(request):
    """A task, and 700 of its episodes simulated in one thread: more than a chunk holds."""
    return TASKS[request.param], gather(TASKS[request.param], 700)


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("batch_size", [1, 31, 64, 700, 10_000])
def test_threads_and_batch_sizes(streamed, threads, batch_size):
    task, expected = streamed
    assert_same_bytes(gather(task, 700, threads=threads, batch_size=batch_size), expected)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 63, 64, 65, 511, 513])
def test_numbers_of_episodes_that_fill_lanes_or_do_not(streamed, n):
    task, expected = streamed
    assert_same_bytes(gather(task, n), [array[:n] for array in expected])


@pytest.mark.parametrize("first", [1, 15, 31, 32, 33])
def test_the_lane_in_which_an_episode_sits(streamed, first):
    task, expected = streamed
    states = RESERVOIR.run(task.inputs(40, seed=3, first=first))
    assert_same_bytes([states], [expected[0][first : first + 40]])


# --- learning


def trained(names, threads=1):
    with np.errstate(invalid="raise"):
        return kn.train(
            {name: LEARNERS[name] for name in names}, RESERVOIR, TASKS["static"], 2500, n_test=300, threads=threads
        )


@pytest.fixture(scope="module")
def together():
    return trained(LEARNERS)


def assert_same_results(result, expected):
    for name in result.data_vars:
        assert result[name].values.tobytes() == expected[name].sel(learner=result.learner).values.tobytes(), name


@pytest.mark.parametrize("left_out", LEARNERS)
def test_a_learner_left_out_changes_no_other(together, left_out):
    assert_same_results(trained([name for name in LEARNERS if name != left_out]), together)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_order_of_learners_and_threads(together, threads):
    assert_same_results(trained(list(LEARNERS)[::-1], threads), together)


def test_threads_of_prelearning():
    found = [
        kn.prelearn(kn.Composed(rule=rule), RESERVOIR, TASKS["static"], steps=400, threads=threads)
        for rule in (kn.Supervised(), kn.QLearning())
        for threads in (1, 4)
    ]
    for a, b in (found[:2], found[2:]):
        assert_same_bytes(a[1:4], b[1:4])
        assert a.theta_g == b.theta_g


@pytest.mark.parametrize("kind", [kn.ReservoirClassifier, kn.ReservoirRegressor])
def test_saved_in_the_midst_of_learning_and_gone_on_with(kind, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 12, 2)), np.arange(90) % 2
    classes = {"classes": [0, 1]} if kind is kn.ReservoirClassifier else {}
    model = kind("normalised", n_neurons=40, random_state=0).partial_fit(X[:30], y[:30], **classes)
    whole = kind("normalised", n_neurons=40, random_state=0).partial_fit(X[:30], y[:30], **classes)
    for part in (slice(30, 60), slice(60, 90)):
        model.save(tmp_path / "model")
        model = kn.load(tmp_path / "model").partial_fit(X[part], y[part])
        whole.partial_fit(X[part], y[part])
    assert_same_bytes([model.readout_.W, model.readout_.theta], [whole.readout_.W, whole.readout_.theta])
    model.save(tmp_path / "model")
    whole.save(tmp_path / "whole")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "whole").read_bytes()


# --- experiments


def variables(folder):
    """Return digests of all variables in each file of a folder."""
    store = Store(folder)
    stored = {trial: store.read(trial).variables for trial in store.finished()}
    return {
        trial: {name: digests.digest(values) for name, (_, values) in found.items()} for trial, found in stored.items()
    }


@pytest.fixture(scope="module")
def experiment():
    return load_experiment({**SMALL, "learners": {"GradientWeights": {}, "Composed": {"start": 0.3}, "Normalised": {}}})


@pytest.fixture(scope="module")
def in_process(experiment, tmp_path_factory):
    folder = tmp_path_factory.mktemp("here")
    run_experiment(experiment, folder, workers=0)
    return variables(folder)


def test_order_of_trials_and_a_stop_in_between(experiment, in_process, tmp_path):
    some = experiment._replace(trials=experiment.trials[:0:-2])
    run_experiment(some, tmp_path, workers=0)
    assert len(variables(tmp_path)) == len(some.trials) < len(in_process)
    run_experiment(experiment._replace(trials=experiment.trials[::-1]), tmp_path, workers=0)
    assert variables(tmp_path) == in_process


def test_threads_of_a_trial(experiment, in_process):
    config = experiment.trials[0]
    for threads in (1, 2, 4):
        found = run_trial(config, threads=threads).variables
        assert {name: digests.digest(array.values) for name, array in found.items()} == in_process[config.id]


@pytest.mark.filterwarnings("ignore")  # of Dask's own
def test_a_dask_cluster(experiment, in_process, tmp_path):
    distributed = pytest.importorskip("distributed")
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as cluster:
        run_experiment(experiment, tmp_path, cluster=cluster.scheduler_address)
    assert variables(tmp_path) == in_process


def test_a_file_differs_in_nothing_but_when_it_was_made(experiment, tmp_path):
    config = experiment.trials[0]
    store = Store(tmp_path)
    store.create()
    found = []
    for _ in range(2):
        store.save(config.id, execute([config.canonical()], "a commit")[0])
        stored = store.read(config.id)
        provenance = json.loads(stored.attributes.pop("provenance"))
        assert provenance.pop("began")
        assert provenance.pop("seconds") > 0
        found.append((provenance, stored.attributes, {k: digests.digest(v[1]) for k, v in stored.variables.items()}))
    assert found[0] == found[1]


# --- the table of digests

RENEW = "if they were meant to, `python -m tests.reliability.digests` renews the table"


def changed(row, now):
    return sorted(name for name in row.keys() | now.keys() if row.get(name) != now.get(name))


def test_numbers_are_those_of_the_table():
    table, processor = digests.load(), digests.processor()
    if processor not in table:
        pytest.skip(f"no row for {processor!r}: `python -m tests.reliability.digests` adds it")
    names = changed(table[processor], digests.results())
    assert not names, f"on {processor}, numbers changed: {', '.join(names)}; {RENEW}"


@pytest.mark.parametrize("processor", digests.LESSER)
def test_numbers_on_a_lesser_processor_are_those_of_the_table(processor):
    """Numba is told to compile for less: other registers, and other roundings without fused operations."""
    if not digests.processor().startswith("x86_64") or digests.processor() == processor:
        pytest.skip("only a better processor of the same kind can stand in for a lesser one")
    script = "import json; from tests.reliability import digests as d; print(json.dumps([d.processor(), d.core()]))"
    environment = {**os.environ, **digests.LESSER[processor]}
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    found, now = json.loads(run.stdout)
    assert found == processor
    names = changed({name: value for name, value in digests.load()[processor].items() if name in now}, now)
    assert not names, f"on {processor}, numbers changed: {', '.join(names)}; {RENEW}"


def counted():
    """Return the digest of how often states of 70 series were above levels: two whole blocks of lanes, and a part."""
    series = np.random.default_rng(0).random((70, 300, 24), dtype=np.float32)
    levels = np.linspace(0.1, 0.6, 3 * 75, dtype=np.float32).reshape(3, 75)
    kept = Kept(mean=False, activity=True, excess=False, levels=levels, n_stretches=2)
    return digests.digest(RESERVOIR._pooled(series, kept, np.zeros((70, 0), np.intp), 1))


def test_counts_do_not_depend_on_how_comparisons_become_bytes():
    """With AVX-512 comparisons are bits, without they are words, and bytes lie in another order."""
    if "+avx512bw" not in digests.llvm.get_host_cpu_features().flatten():
        pytest.skip("only a processor with AVX-512 can stand in for one without")
    script = "from tests.reliability.test_determinism import counted; print(counted())"
    environment = {**os.environ, **digests.LESSER["x86_64 fma avx2"]}
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == counted()


def test_a_processor_with_avx512_has_the_row_of_one_without(monkeypatch):
    names = []
    for features in ("+fma,+avx2", "+fma,+avx2,+avx512f,+avx512vl"):
        monkeypatch.setattr(digests.numba.config, "CPU_FEATURES", features)
        names.append(digests.processor())
    assert names[0] == names[1]
    assert names[0].endswith("fma avx2")


def test_rows_of_the_table_differ_only_by_what_rounds():
    table = digests.load()
    for name in ("noise: words", "weights", "trial: id", "estimators: labels, ridge"):
        assert len({row[name] for row in table.values()}) == 1, name
