"""What a paper compares, as its file in `papers/` declares it: rows, columns, settings, claims and published values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Literal

from hil.bounded_read import packaged_toml
from hil.dataclass_json import rebuilt
from hil.training.experiments.run import Given
from hil.training.experiments.table import NONE, Within

FOLDER = Path(__file__).parent / "papers"
PAPERS = ("elasticzo", "pmt", "qzo", "quzo", "fqt")  # in the order of `hil experiment --help`


@dataclass(frozen=True)
class TrainingRow:
    """How a row trains.

    Attributes:
        method: a method, a system of QZO-FF, or a configuration of FQT.
        settings: besides eta, batch and seed.
        rates: the first ones of its grid.
        blocks: mask of the trained blocks; `curved`: those of the figures.
        queries: `given`: as many for each layer as the user chose; `layer`, `model`: those of equal forward passes.
        chosen: whether the block is the one that gains most in one epoch.
        fewest_steps, epochs: as of `GraphRun`; 0 epochs: as the user chose.
    """

    method: str = "poor-mans-training"
    settings: Mapping[str, int | float | str] = field(default_factory=dict)
    rates: tuple[float, ...] = ()
    blocks: int | Literal["curved"] = 0
    queries: Literal["", "given", "layer", "model"] = ""
    chosen: bool = False
    fewest_steps: int = 0
    epochs: int = 0

    @property
    def given(self) -> Given:
        """The settings as runs have them."""
        return tuple(self.settings.items())


@dataclass(frozen=True)
class Column:
    """A column: its title, what a run calls it, part of the names of its runs, and settings; r_max 0: as searched."""

    title: str
    kind: str
    tag: str = ""
    settings: Mapping[str, int | float | str] = field(default_factory=dict)
    r_max: int = 0


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper.

    Attributes:
        name, title: the title may have facts in braces.
        rows: in the paper's order.
        trained: rows in the order of training; if the file does not say, `rows` without `none`.
        none: the row whose runs, before training, are the row `none`.
        columns: those that do not follow from the request.
        claims: pairs of rows of which the first is better. within: rows that are not much worse than others.
        order: the claims in words.
        measure: name of the quantity in the cells.
        differences: from the paper; sentences, or names in `sentences`.
        defaults: of the request.
        published: percent, by pattern of a data set, column and row.
        loss_charts: columns with charts of the losses, and their figure.
        memory_parts: what the parts of the memory are.
        part: part of a data set for training.
        first_of: data sets of which only the first that is there is taken. all_channels: as of `Table`.
        declared: all rows of the paper. titles: of rows and columns. sentences: by name.
    """

    name: str
    title: str
    rows: tuple[str, ...] = ()
    trained: tuple[str, ...] = ()
    none: str = ""
    columns: tuple[Column, ...] = ()
    claims: tuple[tuple[str, str], ...] = ()
    within: tuple[Within, ...] = ()
    order: str = ""
    measure: Literal["accuracy", "loss", "cosine"] = "accuracy"
    differences: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    published: Mapping[str, Mapping[str, Mapping[str, int | float]]] = field(default_factory=dict)
    loss_charts: Mapping[str, str] = field(default_factory=dict)
    memory_parts: str = ""
    part: str = "-50k"
    first_of: tuple[str, ...] = ()
    all_channels: Mapping[str, str] = field(default_factory=dict)
    declared: Mapping[str, TrainingRow] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    sentences: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)

    def of_paper(self, data: str, column: str, row: str) -> float | None:
        """Return the published value of a cell."""
        columns = next((its for pattern, its in self.published.items() if fnmatchcase(data, pattern)), {})
        return columns.get(column, {}).get(row)

    def said(self, facts: Mapping[str, Any]) -> Iterator[str]:
        """Yield the differences with the facts in braces; a sentence whose name is False there is left out."""
        for one in self.differences:
            if facts.get(one) is False:
                continue
            sentences = self.sentences.get(one, one)
            for sentence in (sentences,) if isinstance(sentences, str) else sentences:
                yield sentence.format(**facts)


@dataclass(frozen=True)
class Paper:
    """The experiments of a paper by name, and other values that it has."""

    experiments: Mapping[str, Experiment]
    values: Mapping[str, Any]


@cache
def paper(name: str) -> Paper:
    """Return what the file of a paper declares."""
    path = FOLDER / f"{name}.toml"
    whole = packaged_toml(path)
    titles, sentences, rows = (whole.pop(key, {}) for key in ("titles", "sentences", "rows"))
    values, defaults, differences = whole.pop("values", {}), whole.pop("defaults", {}), whole.pop("every", [])
    found = {}
    for key, own in whole.items():
        every = {"name": key, "sentences": sentences, **own}
        every["titles"] = titles | own.get("titles", {})
        every["declared"] = rows | own.get("declared", {})
        every["defaults"] = defaults | own.get("defaults", {})
        every.setdefault("trained", [row for row in own.get("rows", ()) if row != NONE])
        every["differences"] = [*own.get("differences", []), *differences]
        found[key] = rebuilt(Experiment, every, f"{path.name}, {key}", "install trainrig again")
    return Paper(found, values)
