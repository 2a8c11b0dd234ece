"""The reference of the record: the fields of results.json and trial.json, from their JSON Schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hil.record import SCHEMA, schema
from tools.docs_site.markdown import cell, page
from tools.docs_site.schema_tables import fields

PAGE = "reference/record.md"
INTRODUCTION = f"""\
# Record of a run

The fields of `results.json`, `trial.json` and `device_test.json`, schema {SCHEMA}. They are described by JSON Schemas
that are part of the package (`hil.record.schema`); this page is made from them. [The report](../report.md) shows the
record to people, and [the list of files](../project/reports.md#files-of-a-run) says what else a run writes.
[The public API](../public-api.md#files) says what a version promises.

A value that is unknown is null. An object may have fields that this page does not name.
"""


def text() -> str:
    """Return the page."""
    results, trial = schema("results"), schema("trial")
    definitions = {**trial["$defs"], **results["$defs"]}
    added = {name: trial["properties"][name] for name in trial["properties"].keys() - _entry(results).keys()}
    only_there = {"properties": added, "required": trial["required"]}
    return page(
        INTRODUCTION,
        "## results.json",
        cell(results["description"]),
        fields(results, definitions),
        "## trial.json",
        cell(trial["description"]),
        "It has the fields of [TrialRecord](#trialrecord), and:",
        fields(only_there, definitions),
        "## device_test.json",
        "It has the fields of [DeviceTest](#devicetest).",
        *(part for name in ordered(definitions) for part in _part(name, definitions)),
    )


def _entry(results: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = results["$defs"]["TrialRecord"]["properties"]
    return properties


def ordered(definitions: dict[str, Any]) -> list[str]:
    """Return the names of the parts: those of a run first, then the others by name."""
    first = ("RunFacts", "RunTotals", "Totals", "AskedTest", "TrialRecord", "DeviceTest")
    return [*first, *sorted(definitions.keys() - set(first))]


def _part(name: str, definitions: dict[str, Any]) -> Iterator[str]:
    part = definitions[name]
    yield f"## {name}"
    yield from map(cell, part.get("description", "").split("\n\n"))
    yield fields(part, definitions)
