import pytest

import kenyon as kn


@pytest.fixture(scope="session")
def odours():
    return kn.load_odours()
