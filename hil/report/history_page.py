"""The page of `hil history --page`: every quantity over the nights, by board, network and method, with its steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from hil import __version__
from hil.history.changes import Change, varies
from hil.history.nights import RunEntry
from hil.history.overview import HEADLINES, QuantityLine, last_words, lines, step_words, value_words
from hil.history.queries import Series
from hil.record import write_atomic
from hil.report.damage import damage_reported
from hil.report.history_figures import OverNights, history_figure, night_name, over_nights
from hil.report.page import environment, packed_library
from hil.report.trial_figures import box, data_json

TOLD_APART = ("bench", "reality", "variant", "data", "settings")  # series of one board, network and method
DIGEST = 8  # characters of the digest of settings


@dataclass(frozen=True)
class DrawnQuantity:
    """A quantity that varies: its figure, and a sentence for each step and for what is not drawn."""

    name: str
    provenance: str
    anchor: str
    box: Markup
    changes: tuple[tuple[str, Change], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class HistoryGroup:
    """A network and a method on a board: what varies, headlines first, and a row for each quantity."""

    board: str
    network: str
    method: str
    anchor: str
    main: tuple[DrawnQuantity, ...]
    others: tuple[DrawnQuantity, ...]
    rows: tuple[tuple[str, QuantityLine, str], ...]

    @property
    def changes(self) -> int:
        """Number of steps."""
        return sum(len(each.changes) for each in (*self.main, *self.others))


def write_history_page(series: Sequence[Series], runs: Sequence[RunEntry], path: Path) -> None:
    """Write one self-contained page.

    Args:
        series: of trials that passed.
        runs: all runs of the history, in the order of the nights.
        path: of the page.

    Raises:
        RigError: the history makes no sense.
        OSError: the disk is full, or the folder does not exist.
    """
    used = np.unique(np.concatenate([one.nights for one in series])) if series else np.empty(0, np.int64)
    nights = [runs[night] for night in used.tolist()]
    place = np.zeros(len(runs), np.int64)
    place[used] = np.arange(len(used))
    with damage_reported("the page of the history"):
        groups = list(_groups(series, runs, nights, place))
    every = [drawn for group in groups for drawn in (*group.main, *group.others)]
    found = {run.name: number for number, run in enumerate(nights)}
    steps = [(drawn.anchor, change) for drawn in every for _, change in drawn.changes]
    steps.sort(key=lambda step: found[step[1].point.found.name], reverse=True)
    template = environment().get_template("history.html.j2")
    page = template.render(
        boards=[(board, list(own)) for board, own in groupby(groups, key=lambda group: group.board)],
        steps=steps,
        nights=nights,
        names=Markup(data_json({"nights": [night_name(run) for run in nights]})),
        in_words=step_words,
        value_words=value_words,
        last_words=last_words,
        version=__version__,
        drawn=bool(every),
        folded=len(groups) > 1,
        library=packed_library() if every else "",
    )
    write_atomic(path, page)


def _groups(
    series: Iterable[Series], runs: Sequence[RunEntry], nights: Sequence[RunEntry], place: NDArray[np.int64]
) -> Iterator[HistoryGroup]:
    """Yield the groups by board, network and method."""

    def key(one: Series) -> tuple[str, str, str]:
        return one.subject.board, one.subject.network, one.subject.method

    count = 0
    for number, ((board, network, method), found) in enumerate(groupby(sorted(series, key=key), key=key)):
        own = list(found)
        label_of = _labels(own)
        anchors: dict[tuple[str, str, str], str] = {}
        figures = []
        for kind, parts in groupby(sorted(own, key=_kind), key=_kind):
            alike = [one for one in parts if np.isfinite(one.values).any()]
            if any(varies(one) for one in alike):
                anchors[kind] = f"figure-{count}"
                drawn = [over_nights(one, label_of[one.subject], runs, place) for one in alike]
                figures.append(_drawn(kind, anchors[kind], drawn, runs, nights))
                count += 1
        rows = tuple(
            (label_of[line.subject], line, anchors.get((line.name, line.unit, line.provenance), ""))
            for line in lines(sorted(own, key=_kind), runs)
        )
        main = tuple(
            sorted((each for each in figures if each.name in HEADLINES), key=lambda each: HEADLINES.index(each.name))
        )
        others = tuple(each for each in figures if each.name not in HEADLINES)
        yield HistoryGroup(board, network, method, f"group-{number}", main, others, rows)


def _kind(one: Series) -> tuple[str, str, str]:
    return one.name, one.unit, one.provenance


def _labels(series: Sequence[Series]) -> dict[tuple[str, ...], str]:
    """Return the words that tell the subjects of a group apart, at least the variant."""
    subjects = list(dict.fromkeys(one.subject for one in series))
    telling = [name for name in TOLD_APART if name == "variant" or len({getattr(one, name) for one in subjects}) > 1]
    if len({one._replace(settings="") for one in subjects}) == len(subjects):
        telling = [name for name in telling if name != "settings"]
    return {
        one: " ".join(getattr(one, name)[: DIGEST if name == "settings" else None] or "–" for name in telling)
        for one in subjects
    }


def _drawn(
    kind: tuple[str, str, str], anchor: str, drawn: Sequence[OverNights], runs: Sequence[RunEntry],
    nights: Sequence[RunEntry],
) -> DrawnQuantity:  # fmt: skip
    name, _, provenance = kind
    label = f"{name} ({provenance}) over {len(nights)} nights, {len(drawn)} series"
    notes = tuple(f"{one.label}: {one.lost} values are not numbers, and not drawn." for one in drawn if one.lost)
    changes = tuple((one.label, change) for one in drawn for change in one.changes)
    return DrawnQuantity(
        name, provenance, anchor, box(history_figure(drawn, runs, nights), anchor, label), changes, notes
    )
