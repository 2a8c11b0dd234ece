"""What a first light leaves: `first-light.json`, and the same as a page, `first-light.html`, for an issue."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from hil import __version__
from hil.atomic_write import write_atomic
from hil.first_light.bring_up import BringUp
from hil.first_light.stage import Outcome, Result

JSON, PAGE = "first-light.json", "first-light.html"
VERSION = 1
BAD = (Outcome.FAIL.value, Outcome.BLOCKED.value)


@dataclass(frozen=True)
class FirstLight:
    """A first light; the fields are those of the JSON file.

    Attributes:
        version: of the form.
        board, title, chip: of the catalogue.
        reality: `hardware`, or what stands in for the board; a probe that belongs to a stand-in says so itself.
        place: which board of its kind, if rig.toml or a labgrid says.
        begun: UTC, ISO 8601.
        trainrig: version of this package.
        host: system, machine and Python of this computer.
        image, image_sha256: the firmware of the later stages.
        stages: in their order.
        figures: by name, in SI units.
        judgement: one sentence.
    """

    version: int
    board: str
    title: str
    chip: str
    reality: str
    place: str
    begun: str
    trainrig: str
    host: dict[str, str]
    image: str
    image_sha256: str
    stages: list[dict[str, Any]]
    figures: dict[str, Any]
    judgement: str

    @property
    def is_good(self) -> bool:
        """Whether no stage failed or was blocked."""
        return not any(stage["outcome"] in BAD for stage in self.stages)


def first_light_of(on: BringUp, results: Sequence[Result], begun: datetime) -> FirstLight:
    """Return the record of the results of a board."""
    record = on.dut.record
    return FirstLight(
        version=VERSION, board=on.board.name, title=on.board.title, chip=on.board.chip, reality=record.reality,
        place=record.place, begun=f"{begun:%Y-%m-%dT%H:%M:%SZ}", trainrig=__version__,
        host={"system": platform.system(), "machine": platform.machine(), "python": platform.python_version()},
        image=record.image, image_sha256=record.image_sha256, stages=[asdict(result) for result in results],
        figures=on.figures, judgement=judgement(results, record.reality),
    )  # fmt: skip


def judgement(results: Sequence[Result], reality: str) -> str:
    """Return the one sentence about all stages."""
    counts = Counter(result.outcome for result in results)
    total = ", ".join(f"{counts[outcome.value]} {outcome.value}" for outcome in Outcome if counts[outcome.value])
    bad = [result for result in results if result.outcome in BAD]
    where = "on silicon" if reality == "hardware" else f"on the stand-in {reality}: nothing is said about silicon"
    first = f"the first that is not as assumed: {bad[0].name}" if bad else "nothing that was tried is not as assumed"
    return f"{total} {where}; {first}."


def write(light: FirstLight, folder: Path) -> list[Path]:
    """Write both files into a folder and return their paths."""
    from hil.report.first_light_page import first_light_page  # late: Jinja2 loads slowly

    texts = {
        JSON: json.dumps(asdict(light), indent=1, allow_nan=False) + "\n",
        PAGE: first_light_page(asdict(light), BAD),
    }
    for name, text in texts.items():
        write_atomic(folder / name, text)
    return [folder / name for name in texts]
