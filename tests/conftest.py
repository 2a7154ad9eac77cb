import pytest
from hypothesis import settings

import kenyon as kn

# pytest --hypothesis-profile=long tests/reliability: many examples, others at every run.
settings.register_profile("long", max_examples=400, deadline=None, print_blob=True)


# Files with few tests that take long begin first, so that no process is left with one of them at the end.
LONG = (
    *("test_reproduce.py", "test_readings.py", "test_report.py", "test_network.py", "test_faults.py", "test_docs.py"),
    *("test_results.py", "test_pooling.py", "test_executor.py", "test_fuzz.py"),
)


def pytest_configure(config):
    if hasattr(config.option, "loadscope_reorder"):  # not in older versions, which begin with what has the most tests
        config.option.loadscope_reorder = False


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in LONG)


@pytest.fixture(scope="session")
def odours():
    return kn.load_odours()
