"""Damage to files, whatever is in them: a mutator takes a generator and valid files, and returns a spoilt one."""

import struct

BLOCK = 64
INTERESTING = (
    0,
    1,
    2,
    7,
    8,
    127,
    128,
    255,
    256,
    32767,
    65535,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**62,
    2**63 - 1,
    2**63,
    2**64 - 1,
)


def pick(rng, choices):
    """Return one of several, left as it is."""
    return choices[int(rng.integers(len(choices)))]


def place(rng, contents):
    """Return a place in a file; half the time near its beginning, where formats keep what they need first."""
    end = len(contents) if rng.random() < 0.5 else min(len(contents), 512)
    return int(rng.integers(end)) if end else 0


def stretch(rng, contents):
    """Return a piece of a file, often a short one."""
    first = place(rng, contents)
    return first, min(len(contents), first + int(rng.integers(1, pick(rng, (4, BLOCK, 4096)))))


def flip_bits(rng, files):
    contents = bytearray(pick(rng, files))
    for _ in range(int(rng.integers(1, 9))):
        contents[place(rng, contents)] ^= 1 << int(rng.integers(8))
    return bytes(contents)


def overwrite(rng, files):
    contents = bytearray(pick(rng, files))
    first, last = stretch(rng, contents)
    contents[first:last] = pick(rng, (bytes(last - first), b"\xff" * (last - first), rng.bytes(last - first)))
    return bytes(contents)


def truncate(rng, files):
    contents = pick(rng, files)
    return contents[: pick(rng, (place(rng, contents), len(contents) - int(rng.integers(1, 9))))]


def extend(rng, files):
    return pick(rng, files) + rng.bytes(int(rng.integers(1, 4096)))


def insert(rng, files):
    contents = pick(rng, files)
    at = place(rng, contents)
    return contents[:at] + rng.bytes(int(rng.integers(1, BLOCK))) + contents[at:]


def delete(rng, files):
    contents = pick(rng, files)
    first, last = stretch(rng, contents)
    return contents[:first] + contents[last:]


def duplicate(rng, files):
    contents = pick(rng, files)
    first, last = stretch(rng, contents)
    return contents[:last] + contents[first:last] * int(rng.integers(1, 9)) + contents[last:]


def swap(rng, files):
    contents = bytearray(pick(rng, files))
    (first, last), other = stretch(rng, contents), place(rng, contents)
    size = min(last - first, len(contents) - other)
    left, right = contents[first : first + size], contents[other : other + size]
    contents[first : first + size], contents[other : other + size] = right, left
    return bytes(contents)


def splice(rng, files):
    head, tail = pick(rng, files), pick(rng, files)
    return head[: place(rng, head)] + tail[place(rng, tail) :]


def number(rng, files):
    """Put a number that is often mishandled where a length or an offset may be."""
    contents = bytearray(pick(rng, files))
    size, form = pick(rng, ((1, "<B"), (2, "<H"), (4, "<I"), (8, "<Q"), (4, ">I"), (8, ">Q")))
    at = place(rng, contents) // size * size
    contents[at : at + size] = struct.pack(form, pick(rng, INTERESTING) % 256**size)
    return bytes(contents)


BYTES = (flip_bits, overwrite, truncate, extend, insert, delete, duplicate, swap, splice, number)
