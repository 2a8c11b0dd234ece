"""since_last_good.json in the folder of a run: what the history says of it, as the session knew it at the end."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, with_config
from typing_extensions import TypedDict

from hil.atomic_write import write_atomic
from hil.bounded_read import read_json
from hil.record.field_types import CLOSED, Count, Items, Named, Natural, NotNegative, Number, Origin, Sentence, Share
from hil.record.safe_paths import safe_file
from hil.record.validation import validated

FILE = "since_last_good.json"
LARGEST = 16 << 20  # bytes; a trial has about 3 KB
RERUN = "delete it, `hil report` then shows the run without it"
NO_GOOD_NIGHT = "No earlier good night ran these trials on this bench: there is nothing to compare with."
NOT_IN_HISTORY = "The history does not have this run: what changed is not known."
NO_ANSWER = "The history did not answer: what changed since the last good night is not known."
NOT_RUN = "did not run"
NOTHING_KNOWN = (NO_GOOD_NIGHT, NOT_IN_HISTORY, NO_ANSWER)


@with_config(CLOSED)
class GoodNight(TypedDict):
    """The run that this one is compared with."""

    run: Annotated[Sentence, Field(description="name of its folder")]
    time: Annotated[str, Field(description="time of its start in UTC; empty if its record has none")]
    commit: Annotated[str, Field(description="git commit that it tested; empty if unknown")]


@with_config(CLOSED)
class ChangedWord(TypedDict):
    """A verdict or a digest that differs, or what only one of the runs has, where the other is empty.

    Of a device test that are figures, tensors that were compared, and their tolerances, each in words.
    """

    test: Sentence
    board: Annotated[str, Field(description="name of the board; empty if the test uses none")]
    folder: Annotated[str, Field(description="of the trial in this run; empty for the verdict of a test")]
    what: Literal["verdict", "trained tensors", "image", "figure", "tensor", "tolerance"]
    before: Annotated[
        str, Field(description="in the last good night; `did not run` of a test that ran in an earlier night")
    ]
    after: Annotated[str, Field(description="in this run")]


@with_config(CLOSED)
class ChangedFigure(TypedDict):
    """A figure of a trial that differs from that of the same trial in the last good night, with its own provenance."""

    test: Sentence
    folder: Annotated[Sentence, Field(description="of the trial in this run")]
    name: Annotated[Sentence, Field(description="path of the figure, such as `sram.total`")]
    unit: Sentence
    provenance: Annotated[Origin, Field(description="the same in both nights: others are not compared")]
    before: Number
    before_uncertainty: Annotated[NotNegative | None, Field(description="standard uncertainty; null if not evaluated")]
    after: Number
    after_uncertainty: Annotated[NotNegative | None, Field(description="standard uncertainty; null if not evaluated")]
    low: Annotated[Number, Field(description="begin of the 95 % interval of the difference")]
    high: Annotated[Number, Field(description="end of the 95 % interval of the difference")]
    relative: Annotated[Number | None, Field(description="difference over the value before; null if that is 0")]
    shown: Annotated[bool, Field(description="whether the interval leaves out 0")]
    sentence: Annotated[Sentence, Field(description="what may be said of the difference")]


@with_config(CLOSED)
class FlakyTest(TypedDict):
    """A test that ended badly in some of the last nights though nothing is broken for good."""

    test: Sentence
    board: str
    bad: Annotated[Count, Field(description="nights that ended badly")]
    nights: Annotated[Natural, Field(description="nights that passed, failed or were blocked")]
    low: Annotated[Share, Field(description="begin of the 95 % interval of the share of bad nights")]
    high: Annotated[Share, Field(description="end of that interval")]
    fault: Annotated[
        Literal["board", "rig", "both", "nobody"], Field(description="board: all bad nights failed; rig: were blocked")
    ]
    stages: Annotated[Named[Count], Field(description="bad nights by the stage that blocked; `fail` is the board's")]


@with_config(CLOSED)
class TrialHistory(TypedDict):
    """One figure of a trial over the last nights in which it passed, and this run, the oldest first."""

    folder: Annotated[Sentence, Field(description="of the trial in this run")]
    name: Sentence
    unit: Sentence
    provenance: Origin
    values: Items[Number]


@with_config(CLOSED)
class SinceLastGood(TypedDict):
    """since_last_good.json: what changed since the last good night, what is flaky, and the last nights of each trial.

    The last good night is the newest earlier run of this bench that has a trial of this run, and in which trials passed
    and none ended badly.
    """

    schema: Annotated[Literal[1], Field(description="number of the schema")]
    good: Annotated[GoodNight | None, Field(description="the last good night; null if there is none")]
    commits: Annotated[str, Field(description="commits between the two, for `git log`; empty if unknown or the same")]
    sentence: Annotated[Sentence, Field(description="the outcome in one sentence, without names from the record")]
    compared: Annotated[Count, Field(description="number of trials of which both nights have one")]
    words: Items[ChangedWord]
    figures: Items[ChangedFigure]
    flaky: Items[FlakyTest]
    histories: Items[TrialHistory]


SINCE: TypeAdapter[SinceLastGood] = TypeAdapter(SinceLastGood)


def nothing_known(sentence: str) -> SinceLastGood:
    """Return the content for a run of which the history says nothing; `sentence` says why."""
    return SinceLastGood(
        schema=1, good=None, commits="", sentence=sentence, compared=0, words=[], figures=[], flaky=[], histories=[]
    )


def changes_in_words(compared: int, words: Sequence[ChangedWord], figures: Sequence[ChangedFigure]) -> str:
    """Return the sentence of a run that is compared with a good night."""
    verdicts = [word for word in words if word["what"] == "verdict"]
    gone, new = (sum(not word[side] for word in verdicts) for side in ("after", "before"))
    again = sum(word["before"] == NOT_RUN for word in verdicts)
    shown = sum(figure["shown"] for figure in figures)
    of = Counter(word["what"] for word in words)
    counts = (
        (len(verdicts) - gone - new - again, "verdict"), (of["trained tensors"] + of["image"], "digest"),
        (shown, "figure"), (of["tolerance"], "tolerance"),
    )  # fmt: skip
    said = [_counted(count, word) for count, word in counts if count]
    parts = [f"{', '.join(said)} changed"] if said else []
    came = [_counted(of[what], what) for what in ("figure", "tensor") if of[what]]
    parts += [f"{', '.join(came)} came or went"] if came else []
    parts = parts or ["no change is shown"]
    parts += [f"{_counted(again, 'test')} ran again"] if again else []
    parts += [f"{_counted(gone, 'test')} did not run"] if gone else []
    parts += [f"{_counted(new, 'test')} {'is' if new == 1 else 'are'} new"] if new else []
    return f"Since the last good night {', '.join(parts)} ({_counted(compared, 'trial')} compared)."


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def write_since(folder: Path, since: SinceLastGood) -> None:
    """Write the file into the folder of a run.

    Raises:
        RigError: a value does not fit the model, so that no reader would take the file.
        OSError: the disk is full.
    """
    validated(SINCE, since, FILE, FILE)
    write_atomic(folder / FILE, json.dumps(since, indent=1, allow_nan=False) + "\n")


def read_since(folder: Path) -> SinceLastGood | None:
    """Return what the file in the folder of a run says; None if there is none.

    Raises:
        RigError: the file is damaged.
    """
    path = safe_file(folder, FILE)
    return None if path is None else validated(SINCE, read_json(path, LARGEST, RERUN), str(path), FILE)
