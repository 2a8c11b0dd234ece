"""One trial as results.json holds it; `schema.json` beside this module describes the whole file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

SCHEMA = 2


@dataclass
class TrialRecord:
    """One entry of `trials`. Bytes, counts and seconds are plain numbers; what could not be found out is None."""

    board: str
    core: str
    reality: str | None
    network: str
    method: str
    variant: str
    data: str
    batch: int
    seed: int
    steps: int
    bit_exact: bool | None
    steps_compared: int
    first_difference: dict[str, Any] | None
    final_digest: str | None
    accuracy: dict[str, float | int | None]
    sram: dict[str, int | None]
    sram_provenance: dict[str, str]
    cycles: dict[str, int]
    cycles_provenance: str
    clock_hz: int | None
    step_time_s: float | None
    image_sha256: str | None
    network_sha256: str | None
    data_sha256: str | None
    verdict: str
    reason: str
    stage: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    layers: list[str] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    probe_checks: int = 0
    probe_agreed: int = 0
    sram_probe: dict[str, int] | None = None
    link: dict[str, int] = field(default_factory=dict)
    wall_s: float = 0.0
    warnings: list[str] = field(default_factory=list)
    folder: str = ""
    slots: int | None = None
    schedule: list[dict[str, int]] = field(default_factory=list)
    signs: dict[str, int] | None = None
    memory_plan: dict[str, Any] | None = None
    profile: dict[str, dict[str, int]] | None = None
    analytic: dict[str, Any] | None = None
    work: dict[str, int] | None = None
    selection: list[dict[str, Any]] = field(default_factory=list)
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    energy: dict[str, Any] | None = None
    latency: dict[str, Any] | None = None
    flash: dict[str, Any] | None = None
    image: dict[str, Any] | None = None
    second_sources: dict[str, list[str]] = field(default_factory=dict)
    wrong_figures: dict[str, str] = field(default_factory=dict)
    test: str = ""


@cache
def schema() -> dict[str, Any]:
    """Return the JSON Schema of results.json."""
    loaded: dict[str, Any] = json.loads((resources.files(__package__) / "schema.json").read_text(encoding="utf-8"))
    return loaded
