"""The one place where seeds are spawned: by name, so that a new consumer changes nobody else's numbers."""

from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks


def _sequence(seed: int, names: tuple[str, ...]) -> np.random.SeedSequence:
    digest = blake2b("/".join(names).encode(), digest_size=16).digest()
    words = np.frombuffer(digest, dtype="<u4")
    return np.random.SeedSequence(_checks.seed(seed), spawn_key=tuple(int(word) for word in words))


def generator(seed: int, *names: str) -> np.random.Generator:
    """Return a NumPy generator for this seed and name."""
    return np.random.Generator(np.random.PCG64(_sequence(seed, names)))


def derive(seed: int, *names: str) -> int:
    """Return another seed, derived from this one by name."""
    return int(_sequence(seed, names).generate_state(1, np.uint64)[0])


def key(seed: int, *names: str) -> NDArray[np.uint32]:
    """Return the two-word key of a counter-based generator for this seed and name."""
    return _key(_checks.seed(seed), names)


@lru_cache
def _key(seed: int, names: tuple[str, ...]) -> NDArray[np.uint32]:
    words = _sequence(seed, names).generate_state(2, np.uint32).astype(np.uint32, copy=False)
    words.flags.writeable = False
    return words
