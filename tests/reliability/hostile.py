"""Files that are well formed and yet not what a reader expects: mutators that know what is in them.

Links and names point at `../bait`, a folder beside that of the file, which holds a pipe that nobody writes to, another
file of each kind, and a secret. A digest that anyone can compute is computed anew, as an attacker would.
"""

import io
import json
import math
import struct

import h5py
import numpy as np

from kenyon import saving
from kenyon.experiment.config import TRIAL_FORMAT
from kenyon.experiment.result_file import seal, unseal
from tests.reliability.mutators import BYTES, INTERESTING, pick

BAIT = (
    "../bait/pipe",
    "../bait/secret",
    "../bait/other.nc",
    "../bait/other.toml",
    "/dev/zero",
    "/dev/stdin",
    "nowhere",
)
PATHS = (
    "../../x",
    "../bait/x",
    "/tmp/x/y",
    "a/b",
    "..",
    ".",
    "",
    "a\0b",
    "~",
    "CON",
    "x" * 5000,
    "%s",
    "$HOME",
    "ü☃\u202e",
)


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def value(rng):
    """Return something that a reader may not expect."""
    choices = (
        None, True, False, "", "x", 0, -1, 1.5, math.nan, math.inf, -math.inf, 1e308, 5e-324, 10**30, [], {}, [[]],
        [None], {"": None}, {"kind": "x"}, "x" * 100_000, [0] * 5000, "\0", "\ud7ff", pick(rng, PATHS), pick(rng, BAIT),
        pick(rng, INTERESTING), -pick(rng, INTERESTING), [pick(rng, INTERESTING), -1], nested(50),
    )  # fmt: skip
    return pick(rng, choices)


def nodes(tree, path=()):
    """Yield the places of all values in a tree of tables and lists."""
    yield path
    children = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, child in children:
        yield from nodes(child, (*path, key))


def edit(rng, tree, make=value):
    """Return a tree with one of its values replaced, removed, doubled or named otherwise."""
    places = list(nodes(tree))
    path = pick(rng, places)
    if not path:
        return make(rng) if rng.random() < 0.1 else edit(rng, tree, make) if len(places) > 1 else make(rng)
    *above, last = path
    parent = tree
    for key in above:
        parent = parent[key]
    act = rng.integers(5)
    if act == 0:
        del parent[last]
    elif act == 1 and isinstance(parent, dict):
        parent[pick(rng, (*PATHS, *parent))] = parent.pop(last)
    elif act == 2:
        source = pick(rng, places)
        copied = json.loads(json.dumps(tree))
        for key in source:
            copied = copied[key] if isinstance(copied, list) or key in copied else copied
        parent[last] = copied
    else:
        parent[last] = make(rng)
    return tree


def edits(rng, tree, make=value):
    for _ in range(pick(rng, (1, 1, 1, 2, 5))):
        if not isinstance(tree, (dict, list)):
            break
        tree = edit(rng, tree, make)
    return tree


# Results: netCDF


def changed(contents, change):
    """Return a result after `change` of the open file, with a digest to match."""
    buffer = io.BytesIO(unseal(contents))
    with h5py.File(buffer, "r+") as file:
        change(file)
    return seal(buffer.getvalue())


def attributes(rng, files):
    def change(file):
        name = pick(rng, list(file.attrs))
        old = file.attrs[name]
        texts = ("", "null", "[]", "{}", "3", '"x"', '{"a": 1}', "[" * 100_000, "x" * 60_000, old, old * 2, "NaN")
        texts += tuple({str(pick(rng, list(other.attrs))) for other in [file]})
        others = (
            7,
            -1,
            2**40,
            1.5,
            np.nan,
            True,
            np.arange(6),
            np.zeros((2, 2)),
            h5py.Empty("f"),
            b"\xff\xfe",
            file.ref,
        )
        del file.attrs[name]
        if rng.random() < 0.9:
            file.attrs[name] = pick(rng, (*texts, *others))

    files = [pick(rng, files)]
    return changed(files[0], change)


def described(rng, files):
    """Change what an attribute's JSON says."""

    def change(file):
        name = pick(rng, ("variables", "variables", "config", "provenance", "diverged", "prelearning"))
        file.attrs[name] = json.dumps(edits(rng, json.loads(file.attrs[name])))[:60_000]

    return changed(pick(rng, files), change)


def strange(rng):
    """Return an array of some kind."""
    shapes = ((), (0,), (1,), (3,), (2, 3), (1, 1, 1, 1))
    kinds = ("f4", "f8", "i1", "u8", "i4", "c16", "S5", "?", ">f8", "f2", "V7")
    return np.zeros(pick(rng, shapes), pick(rng, kinds))


def variables(rng, files):
    """Replace or remove a variable; half the time its dimensions are listed to match."""

    def change(file):
        name = pick(rng, list(json.loads(file.attrs["variables"])))
        table, truly = json.loads(file.attrs["variables"]), rng.random() < 0.5
        del file[name]
        act = rng.integers(4)
        if act == 0 and truly:
            del table[name]
            file.attrs["variables"] = json.dumps(table)
        elif act == 1:
            file[pick(rng, ("renamed", "a/b", "x" * 300))] = strange(rng)
        elif act == 2:
            file.create_group(name)
        elif act == 3:
            file[name] = strange(rng)
            if truly:
                dimensions = [pick(rng, ("learner", "new"))] * file[name].ndim
                file.attrs["variables"] = json.dumps({**table, name: dimensions})

    return changed(pick(rng, files), change)


def links(rng, files):
    """Let a variable be elsewhere."""

    def change(file):
        name = pick(rng, list(json.loads(file.attrs["variables"])))
        values, target = file[name][()], pick(rng, BAIT)
        del file[name]
        act = rng.integers(5)
        if act == 0:
            file[name] = h5py.SoftLink(pick(rng, (name, "/", "/nowhere", "/accuracy", "/learner", "/" + "a/" * 1000)))
        elif act == 1:
            file[name] = h5py.ExternalLink(target, pick(rng, (name, "/", "/accuracy")))
        elif act == 2 and values.ndim and values.dtype.kind != "O":
            layout = h5py.VirtualLayout(values.shape, values.dtype)
            layout[...] = h5py.VirtualSource(target, name, values.shape)
            file.create_virtual_dataset(name, layout, fillvalue=pick(rng, (0, 1)))
        elif act == 3 and values.dtype.kind != "O":
            size = pick(rng, (values.nbytes, 2**20, h5py.h5f.UNLIMITED))
            shape = pick(rng, (values.shape, (2**34,)))
            file.create_dataset(name, shape, values.dtype, external=[(target, 0, size)])
        else:
            file[f"{name} moved"] = h5py.SoftLink(f"/{name}")

    return changed(pick(rng, files), change)


def storage(rng, files):
    """Keep a variable in another way, or claim that it is huge."""

    def change(file):
        name = pick(rng, list(json.loads(file.attrs["variables"])))
        values = file[name][()]
        del file[name]
        huge = pick(rng, (2**28, 2**33, 2**40, 2**60))
        act = rng.integers(5)
        if act == 0 and values.ndim and values.dtype.kind != "O":
            filters = ({"compression": "gzip"}, {"fletcher32": True, "shuffle": True}, {"compression": "lzf"}, {})
            file.create_dataset(name, data=values, chunks=values.shape, **pick(rng, filters))
        elif act == 1:
            file.create_dataset(name, (huge,), "f8")
        elif act == 2:
            file.create_dataset(name, (huge,), "f8", chunks=(2**16,), compression="gzip", fillvalue=1.0)
        elif act == 3:
            file.create_dataset(name, (pick(rng, (3, 2**28)),), h5py.string_dtype())
        else:
            kinds = (
                h5py.ref_dtype, h5py.regionref_dtype, h5py.vlen_dtype("f4"), h5py.enum_dtype({"a": 1}),
                np.dtype([("a", "f4"), ("b", "i8")]), np.dtype(("f4", (1000, 1000))), h5py.string_dtype("ascii", 7),
            )  # fmt: skip
            file.create_dataset(name, values.shape, pick(rng, kinds))
        if rng.random() < 0.5:
            table = json.loads(file.attrs["variables"])
            file.attrs["variables"] = json.dumps({**table, name: ["new"] * file[name].ndim})

    return changed(pick(rng, files), change)


def foreign(rng, files):
    """Return a file of another program, or of another trial."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        for number in range(int(rng.integers(4))):
            file[f"v{number}"] = strange(rng)
        if rng.random() < 0.5:
            file.attrs["kenyon_format"] = TRIAL_FORMAT
    magic = (b"CDF\x01", b"CDF\x05", b"PK\x03\x04", b"\x0e\x03\x13\x01", b"\x80\x04\x95", b"", b"\x89HDF\r\n\x1a\n")
    return pick(rng, (buffer.getvalue(), seal(buffer.getvalue()), pick(rng, magic) + rng.bytes(500), files[-1]))


def resealed(rng, files):
    """Damage a file within, and let its digest match: what the library beneath makes of it."""
    contents = pick(rng, BYTES)(rng, [unseal(file) for file in files])
    return seal(contents)


# Models: safetensors


def parted(contents):
    """Return the header of a safetensors file, and its data."""
    size = struct.unpack("<Q", contents[:8])[0]
    return json.loads(contents[8 : 8 + size]), contents[8 + size :]


def joined(header, data):
    text = (header if isinstance(header, str) else json.dumps(header)).encode()
    return struct.pack("<Q", len(text)) + text + data


def header(rng, files):
    """Change what the file says of its tensors."""
    table, data = parted(pick(rng, files))
    names = [name for name in table if name != "__metadata__"]
    tensor = table[pick(rng, names)]
    size = len(data)
    act = rng.integers(8)
    if act == 0:
        tensor["shape"] = pick(rng, ([2**62], [-1], [2**40, 2**40], [1.5], [0], [], "x", None, [[3]], [1] * 200))
    elif act == 1:
        offsets = ([0, 2**63], [-8, 8], [8, 0], [0, size], [size, 2 * size], [0.0, 8.0], [0], [], None, ["0", "8"])
        tensor["data_offsets"] = pick(rng, offsets)
    elif act == 2:
        tensor["dtype"] = pick(rng, ("F64", "F32", "BOOL", "BF16", "F8_E4M3", "U8", "I64", "object", "", None, 7))
    elif act == 3:
        tensor.update(table[pick(rng, names)])
    elif act == 4:
        return joined(json.dumps(table)[:-1] + f', "t0": {json.dumps(tensor)}}}', data)
    elif act == 5:
        return joined(
            pick(rng, ("[" * 10**5, "{" * 10**5, '{"a":' * 10**5, "null", "[]", "NaN", "{}", " " * 10**5)), data
        )
    elif act == 6:
        table["__metadata__"] = value(rng)
    else:
        table = edits(rng, table)
    return joined(table, data)


def model_value(rng):
    """Return something that may stand in the description of a model."""
    kinds = tuple(saving.MODULES)
    choices = (
        {"tensor": f"t{rng.integers(20)}"}, {"tensor": None}, {"tensor": {}}, {"kind": pick(rng, kinds), "of": {}},
        {"kind": pick(rng, ("Popen", "system", "__import__", None)), "of": {"args": "touch ../bait/x"}},
        {"scalar": pick(rng, ("V2000000000", "O", "U9", "<f8", "M8[s]", "", "object")), "of": value(rng)},
        {"texts": ["a"], "dtype": pick(rng, ("<U500000000", "O", "V9", "<U1", "f8", "S2000000000"))},
        {"texts": "x" * 100, "dtype": "<U1"}, {"texts": nested(80), "dtype": "<U1"}, {"objects": {}},
        {"sparse": {"data": [], "indices": [], "indptr": []}, "shape": [2**40, 2**40]}, {"sparse": {}, "shape": 3},
        {"dict": [[[], 1]]}, {"dict": [[1]]}, {"dict": 3}, {"list": None}, {"tuple": "abc"}, nested(5000),
        {"kind": "Reservoir", "of": {"n_neurons": 2**31, "n_inputs": 1}}, value(rng),
    )  # fmt: skip
    return pick(rng, choices)


def resigned(table, tensors):
    """Return a model's file with a digest to match."""
    from safetensors.numpy import save

    described = {"format": saving.MODEL_FORMAT, "version": "0", "model": table, "sha256": saving.digest(table, tensors)}
    return save(tensors, {saving.KEY: json.dumps(described)})


def opened(contents):
    """Return description and tensors of a model's file."""
    from safetensors.numpy import load

    table, _ = parted(contents)
    return json.loads(table["__metadata__"][saving.KEY])["model"], load(contents)


def description(rng, files):
    table, tensors = opened(pick(rng, files))
    return resigned(edits(rng, table, model_value), tensors)


def tensors(rng, files):
    """Put other arrays into a model: out of range, of another size, of another kind."""
    table, arrays = opened(pick(rng, files))
    for _ in range(pick(rng, (1, 1, 3))):
        name = pick(rng, list(arrays))
        arrays[name] = np.ascontiguousarray(replaced(rng, arrays[name], arrays))
    return resigned(table, arrays)


def replaced(rng, old, arrays):
    act = rng.integers(6)
    if act == 0 and old.size and old.dtype.kind in "iuf":
        limits = np.iinfo(old.dtype) if old.dtype.kind in "iu" else np.finfo(old.dtype)
        new = old.copy()
        new.reshape(-1)[int(rng.integers(old.size))] = pick(rng, (limits.min, limits.max, 0, 1, 100))
        return new
    if act == 1:
        return old[: old.shape[0] // 2] if old.ndim else old
    if act == 2:
        return np.zeros(pick(rng, ((), (0,), (1,), (3, 3), (2, 2, 2), (100_000,))), old.dtype)
    if act == 3:
        return old.astype(pick(rng, ("f8", "f4", "i8", "u4", "?", "i1")))
    return arrays[pick(rng, list(arrays))] if act == 4 else np.full_like(old, 1)


# Experiments: TOML


def toml(value):
    """Return a value as TOML has it, tables inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return '"none"' if value is None else json.dumps(value)


def document(settings):
    return "\n".join(f"{json.dumps(str(key))} = {toml(item)}" for key, item in settings.items()).encode()


def setting(rng):
    """Return something that may stand in an experiment file."""
    many = list(range(1, pick(rng, (3, 30, 300))))
    kinds = (
        "static", "sequence", "supervised", "q-learning", "Composed", "Ridge", "Learner", "os:system", "nowhere:X", ":",
        "kenyon.experiment.trial:execute", "kenyon.learning.learners:Normalised", "pathlib:Path",
    )  # fmt: skip
    return pick(
        rng, (many, many, [], pick(rng, kinds), 2**31, 2**62, 10**9, 10**6, "1979-05-27", value(rng), value(rng))
    )


def settings(rng, files):
    import tomllib

    table = edits(rng, tomllib.loads(pick(rng, files).decode()), setting)
    return document(table if isinstance(table, dict) else {"name": table})


def explosions(rng, files):
    """Ask for more trials, odours or learners than anything could hold."""
    big = int(pick(rng, (10**5, 10**7, 10**9, 10**12, 2**63 - 1)))
    lists = ", ".join(map(str, range(1, 400)))
    lines = (
        f"seeds = {big}", f"seed = [{lists}]\nn_test = [{lists}]\nn_bins = [{lists}]",
        f"task = {{n_stimuli = 10, resample = {big}}}", f"task = {{kind = 'sequence', n_bases = {big}}}",
        f"task = {{kind = 'sequence', n_bases = {big}, resample = 10000}}",
        f"task = {{kind = 'sequence', n_classes = {big}, n_bases = 1, resample = {big}}}",
        f"task = {{n_classes = {big}}}", f"task = {{groups = {big}}}", f"task = {{steps = {big}}}",
        f"learners.Normalised = {{mu = [{lists}], k = [{lists}], eta_w = [{lists}]}}",
        f"reservoir = {{n_neurons = {big}}}",
        "[[case]]\n" * 500, f"n_test = {big}\nn_bins = {big}\nn_episodes = {big}\nexamples = {big}",
        "\n".join(f"[learners.l{i}]\nkind = 'Normalised'" for i in range(2000)), f"zip = [[{lists}]]",
        "zip = [" + "['task.noise'], " * 1000 + "]", f"seed = {'[' * 3000}{']' * 3000}", "a." * 3000 + "b = 1",
        f"seed = {'9' * 10_000}", f"name = '{'x' * 10**6}'", f"seed = [{lists}]\n" + "[[case]]\n" * 300,
    )  # fmt: skip
    return pick(rng, lines).encode()


def names(rng, files):
    """Point names and files elsewhere."""
    where = json.dumps(pick(rng, (*PATHS, *BAIT)))
    lines = (
        f"name = {where}", f"extends = {where}", 'extends = "file.toml"', 'extends = "../given/file.toml"',
        f"task = {{odours = {where}}}", f"task = {{odours = [{where}, {where}]}}", f"preset = {where}",
        f"learners = {{{where} = {{kind = 'Normalised'}}}}", f"extends = {where}\nname = {where}", f"zip = [[{where}]]",
        'task = {odours = "../bait/secret", odours_sha256 = "0"}', 'extends = "../bait/loop.toml"',
    )  # fmt: skip
    return pick(rng, lines).encode()


# Odours: CSV


def cells(rng, files):
    """Change a table, cell by cell."""
    rows = [line.split(",") for line in pick(rng, files).decode().splitlines()]
    long = "9" * pick(rng, (400, 140_000))
    texts = (
        "", "nan", "inf", "-1", "1e400", "1e-400", "0x10", "1_000", "=1+1", "@SUM(A1)", '"', '"a\nb"', "a;b", long,
        "x" * 200_000, "\0", "\ufeff1", "１２", "1,2", "'", "-0.0", " 3 ", "1e308", "NaN", "None", "\r", "\u2028",
    )  # fmt: skip
    for _ in range(pick(rng, (1, 1, 2, 10))):
        row = pick(rng, rows)
        act = rng.integers(6)
        if act == 0:
            row.append(pick(rng, texts))
        elif act == 1 and row:
            row.pop()
        elif act == 2:
            rows.insert(int(rng.integers(len(rows))), list(row))
        elif row:
            row[int(rng.integers(len(row)))] = pick(rng, texts)
    return "\n".join(",".join(row) for row in rows).encode()


def tables(rng, files):
    """Write a table in another way."""
    text = pick(rng, files).decode()
    rewritten = (
        text.replace(",", ";"), text.replace(",", "\t"), "\ufeff" + text,
        text.replace("\n", "\r"), text.replace("\n", "\r\n"),
        text.replace("\n", "\n\n"), text * 2, '"' + text, text.replace(",", ',"'), text.upper(), "\n" * 1000 + text,
    )  # fmt: skip
    coded = (
        text.encode("utf-16"),
        text.encode("utf-32"),
        text.encode() + b"\xff\xfe\xfd",
        b"\xef\xbb\xbf" * 2 + text.encode(),
    )
    many = ("odour" + ",a" * 10**4 + "\n", "odour,a\n" + "x,1\n" * 10**4, "odour,a\n" + "x,1" + ",1" * 10**4)
    return pick(rng, (*(table.encode() for table in (*rewritten, *many)), *coded))


# Notes: JSON


def facts(rng, files):
    return json.dumps(edits(rng, json.loads(pick(rng, files)))).encode()


def depths(rng, files):
    return pick(
        rng, (b"[" * 10**5, b'{"name":' * 10**5, b'{"time": 1' + b"0" * 10**4 + b"}", b'{"a": 1e999}', b"\xff", b"")
    )
