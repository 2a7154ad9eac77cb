"""Real series: Kenyon with its defaults next to the best there is, on sets that its defaults were not chosen on.

Results are kept in a folder, a file for each set, model and seed, so that a run that was stopped goes on where it was.
Then docs/series.md and its picture are written from what there is.

    python benchmarks/series.py [--out FOLDER] [--models NAME ...] [--sets NAME ...] [--write-only]
"""

import argparse
import json
from pathlib import Path

from series_data import load
from series_models import MODELS, Measured, affordable
from series_page import write
from series_plan import CHOSEN_ON, GOALS, REPORTED, SEEDS

WARM_UP = 40  # series of each part


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
            for seed in range(SEEDS if name in GOALS and model.startswith("Kenyon") else 1):
                file = out / f"{name}-{model.replace(' ', '-').replace(',', '')}-{seed}.json"
                if file.exists() or not affordable(model, split):
                    continue
                if model not in warm:  # whatever has to be compiled is, before it is timed
                    MODELS[model](split.some(WARM_UP), 0)
                    warm.add(model)
                measured = MODELS[model](split, seed)
                file.write_text(json.dumps({"key": [name, model, seed], **measured._asdict()}))
                print(f"{name:<30}{model:<24}{seed}  " + "  ".join(f"{value:8.3f}" for value in measured), flush=True)


if __name__ == "__main__":
    main()
