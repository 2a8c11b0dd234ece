"""Make the golden files from the NumPy reference: `python -m tests.unit.golden.make`, in a checkout.

They are made again only when a change of docs/arithmetic*.md asks for other bits: then with --force.
"""

from __future__ import annotations

import argparse
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from hil.training.data import batches, load
from hil.training.methods import Method
from hil.training.reference.methods import reference_of

from .numpy_side import NumpyTrainer
from .rows import DATA, STEPS, Row, path_of, text_of, wanted
from .subjects import all_settings, subject, totals
from .train import train

CANDIDATES = 250  # training images among which a row's are looked for


def make_row(row: Row, settings: dict[str, Any]) -> dict[str, Any]:
    """Return what a golden file has of a row."""
    of, trainer = subject(row, settings), NumpyTrainer()
    samples = missed(of, settings["batch"], settings["seed"])
    found = train(trainer, of, samples, 0)
    for step in found["steps"]:
        step |= {name: exact(step[name], of.figures.integers_only()) for name in ("loss_plus", "loss_minus")}
    stages = trainer.stages(settings["batch"] - 1)
    return {
        "variant": row.variant,
        "setting": row.setting,
        "settings": all_settings(of),
        "samples": samples,
        "tensors": [tensor.name for tensor in of.plan.tensors],
        **found,
        "trace": {f"{stage.layer}, {stage.what}": digest for stage, digest in zip(stages, found["trace"], strict=True)},
        "plan": totals(of),
    }


def missed(of: Method, batch: int, seed: int) -> list[list[int]]:
    """Return the training images of every step: the first in the order of the seed that the network gets wrong, so that losses and updates are large."""
    data = load(DATA)
    order = next(batches(data, CANDIDATES, seed))
    predictions, _, _ = reference_of(of).evaluate_chunk(data.train_images[order], data.train_labels[order])
    wrong = [int(index) for index in order[predictions != data.train_labels[order]]]
    assert len(wrong) >= STEPS * batch, f"of {CANDIDATES} images the network gets {len(wrong)} wrong: raise CANDIDATES"
    return [wrong[step * batch : (step + 1) * batch] for step in range(STEPS)]


def exact(loss: float, integer: bool) -> int | str:
    """Return a loss without rounding: a whole number, or a binary32 number in hexadecimal."""
    if integer:
        assert loss == int(loss)
        return int(loss)
    assert loss == np.float32(loss)
    return loss.hex()


def make(force: bool) -> int:
    """Write every file; return 1, with a sentence, where one is there and must not be replaced."""
    files: list[tuple[Path, str]] = []
    by_file = sorted(wanted(), key=lambda pair: (pair[0].method, pair[0].network))
    for (method, network), rows in groupby(by_file, key=lambda pair: (pair[0].method, pair[0].network)):
        path = path_of(method, network)
        if path.exists() and not force:
            print(
                f"{path.name} of {method} is there already: golden files change with docs/arithmetic*.md alone; then give --force.",
                file=sys.stderr,
            )
            return 1
        made = [make_row(row, settings) for row, settings in rows]
        files.append(
            (
                path,
                text_of(
                    {"method": method, "network": network, "data": DATA, "data_sha256": load(DATA).sha256, "rows": made}
                ),
            )
        )
        print(f"{method}, {network}: {len(made)} rows")
    for path, text in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m tests.unit.golden.make", description="Make fixtures/golden from the NumPy reference."
    )
    parser.add_argument("--force", action="store_true", help="replace the files that are there")
    sys.exit(make(parser.parse_args().force))
