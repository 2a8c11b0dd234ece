"""The data cards of the sets that this package knows, in the words of their tables."""

from __future__ import annotations

from pathlib import Path

from hil.errors import printable
from hil.training.data.card import NOT_STATED, OF_ARRAYS, Arrays, DataSetCard
from hil.training.data.names import IDX
from hil.training.data.own.statement import read_statement
from hil.training.data.store import known_sets
from hil.training.data.user_files import user_sets
from hil.training.data.vibration import MACHINES

PUBLISHERS = "its publisher's"
BY_FILES = "as given by its owner"


def known_card(name: str, arrays: Arrays, sha256: str) -> DataSetCard:
    """Return the card of a set without suffixes: included, fetched, downloaded by hand, made, or IDX files.

    Args:
        name: as given to `load`.
        arrays: of the set.
        sha256: of the arrays.
    """
    title, file, split = name, "", PUBLISHERS
    if name.startswith(IDX):
        folder = Path(name.removeprefix(IDX))
        stated = read_statement(folder)
        file = printable(folder.absolute().name)
        title, kind, licence, source, split = stated.name or file, "IDX files", stated.licence, stated.source, BY_FILES
    elif name in user_sets():
        own = user_sets()[name]
        title, kind, licence, source = own.title, "downloaded by the user", own.licence, own.by_hand
    elif name in MACHINES:
        kind, licence, source = (
            "SYNTHETIC, made when it is loaded",
            "Apache-2.0",
            "hil/training/data/vibration.py of trainrig",
        )
        split = "made apart, by PCG64([6205, machine, split])"
    else:
        known = known_sets().get(name)
        if known is not None:
            title, kind, licence, source, split = known.title, "fetched", known.licence, known.by_hand, known.split
        else:
            known = known_sets()["fashion-mnist"]
            title = "Fashion-MNIST, 1,000 training and 500 test images of clothes, 28 x 28"
            kind, licence, source = "included in trainrig", known.licence, known.by_hand
            split = "the first 100 and 50 of every class of its publisher's training and test images"
    licence = " ".join(licence.split()) or NOT_STATED
    plain = DataSetCard(title, kind, file, "", sha256, OF_ARRAYS, licence, source, split, None, (0, 0, 0), None, ())
    return plain.of(arrays)
