"""The examples on real data run, and learn."""

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def printed(name, capsys, extra=None):
    if extra:
        pytest.importorskip(extra, reason=f"{extra} is in the extras data and bench")
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    return capsys.readouterr().out


def scores(text, word):
    """Return the numbers after a word, line by line."""
    return [float(found) for found in re.findall(rf"{word} (-?[\d.]+)", text)]


def test_digits_by_row(capsys):
    text = printed("digits_by_row", capsys)
    ridge, normalised, *stream = scores(text, "accuracy")
    assert min(ridge, normalised) > 0.94
    assert stream[-1] > stream[0]
    assert stream[-1] > 0.85


def test_connectome(capsys):
    text = printed("connectome", capsys)
    (own, *null), (blocks, *mixed) = scores(text, "accuracy"), scores(text, "within types")
    assert min(own, *null) > 0.94
    assert blocks > 0.7 > 0.3 > max(mixed)


def test_drifting_odours(capsys):
    all_rows, forgetting = scores(printed("drifting_odours", capsys), "after the change")
    assert forgetting > all_rows + 0.05


def test_japanese_vowels(capsys):
    text = printed("japanese_vowels", capsys, "aeon")
    assert min(scores(text, "cross-validated") + scores(text, "test part")) > 0.93
    assert "the same to the bit: True" in text


def test_blood_pressure(capsys):
    text = printed("blood_pressure", capsys, "aeon")
    last, ridge, normalised = scores(text, "last sample")[0], *scores(text, r"(?:ridge|normalised) +R²")
    assert min(ridge, normalised) > max(0.8, last)


def test_reservoirpy_states(capsys):
    text = printed("reservoirpy_states", capsys, "reservoirpy")
    plain, normalised, ridge = scores(text, "accuracy")
    assert normalised > plain
    assert normalised > 0.9
    assert ridge > 0.9


def test_forecasting(capsys):
    text = printed("forecasting", capsys)
    known, unknown = scores(text, "R²")
    assert scores(text, "median error")[0] < 0.1
    assert known > 0.9 > unknown
