"""Real series: Kenyon with its defaults next to the best there is, on sets that its defaults were not chosen on.

Results are kept in a folder, a file for each set, model and seed, so that a run that was stopped goes on where it was.
Then docs/series.md and its picture are written from what there is.

    python benchmarks/series.py [--out FOLDER] [--models NAME ...] [--sets NAME ...] [--write-only]
"""

import argparse
import json
from pathlib import Path

from series_data import Split, load
from series_models import MODELS, Measured, affordable
from series_page import OURS, write
from series_plan import CHOSEN_ON, GOALS, REPORTED, REPORTED_SEEDS, SEEDS

WARM_UP = (40, 12, 6, 2)  # series that are predicted, of which each number has a kernel of its own; learned from: 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("series-results"))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=[*MODELS])
    parser.add_argument("--sets", nargs="+", choices=(*REPORTED, *CHOSEN_ON), default=[*REPORTED, *CHOSEN_ON])
    parser.add_argument("--write-only", action="store_true", help="run nothing")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if not given.write_only:
        run(given.out, given.models, given.sets)
    stored = [json.loads(file.read_text()) for file in sorted(given.out.glob("*.json"))]
    write({tuple(one.pop("key")): Measured(**one) for one in stored})


def run(out: Path, models: list[str], sets: list[str]) -> None:
    """Run what has no file yet, set by set."""
    warm: set[str] = set()
    for name in sets:
        split = load(name)
        for model in models:
            for seed in range(n_seeds(name, model)):
                file = out / f"{name}-{model.replace(' ', '-').replace(',', '')}-{seed}.json"
                if file.exists() or not affordable(model, split):
                    continue
                kind = f"{model}, {name if model.startswith('Kenyon') else 'all'}"  # what is compiled depends on series
                if kind not in warm:
                    warm_up(model, split)
                    warm.add(kind)
                measured = MODELS[model](split, seed)
                file.write_text(json.dumps({"key": [name, model, seed], **measured._asdict()}))
                print(f"{name:<30}{model:<24}{seed}  " + "  ".join(f"{value:8.3f}" for value in measured), flush=True)


def warm_up(model: str, split: Split) -> None:
    """Have compiled whatever has to be, before it is timed."""
    some = split.some(WARM_UP[0])
    for n in WARM_UP if model.startswith("Kenyon") else WARM_UP[:1]:
        MODELS[model](some._replace(X_test=some.X_test[:n], y_test=some.y_test[:n]), 0)


def n_seeds(name: str, model: str) -> int:
    """Return with how many seeds a model is run on a set."""
    if name in GOALS and model.startswith("Kenyon"):
        return SEEDS
    return REPORTED_SEEDS if name in REPORTED and model == OURS else 1


if __name__ == "__main__":
    main()
