import pytest
from hypothesis import settings

import kenyon as kn

# pytest --hypothesis-profile=long tests/reliability: many examples, others at every run.
settings.register_profile("long", max_examples=400, deadline=None, print_blob=True)


@pytest.fixture(scope="session")
def odours():
    return kn.load_odours()
