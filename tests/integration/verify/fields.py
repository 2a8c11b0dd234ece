"""The fields of a trial's record by their paths: from the schema, from docs/verify.md, and edited in a real run."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from forging import Place, changed, leaves, put

from hil.errors import RigError
from hil.record import quantities
from hil.record.checks import OF_RUN, OF_TRIAL, made
from hil.record.checks.copies import check_csv, check_since, check_sums
from hil.record.checks.recorded import RecordedRun, RecordedTrial
from hil.record.checks.verdicts import check_totals
from hil.record.results import TRIAL, schema
from hil.record.validation import validated
from hil.training.verify.recompute import recomputed
from hil.verify import thorough

DOCS = Path(__file__).parents[3] / "docs/verify.md"
HELD, COMPUTED, SIGNED = "held", "computed", "signed"  # the lists of the documentation
REFUSED = "refused"  # no reader takes such a value, whatever the others are
COPIES = (check_csv, check_since, check_sums, check_totals, thorough.check_listed)  # a forger makes these files again


def of_schema() -> set[str]:
    """Return the path of every value: `[]` stands for a place in a list, `{}` for a name that is not in the schema."""
    whole = schema("results")
    return set(_paths(whole, whole["$defs"]["TrialRecord"], ""))


def _paths(whole: Mapping[str, Any], part: Mapping[str, Any], path: str) -> Iterator[str]:
    if "$ref" in part:
        part = whole["$defs"][part["$ref"].rpartition("/")[2]]
    options = [each for each in part.get("anyOf", ()) if each.get("type") != "null"]
    if options:
        for each in options:
            yield from _paths(whole, each, path)
    elif part.get("type") == "array" and part.get("items"):
        yield from _paths(whole, part["items"], f"{path}[]")
    elif (
        part.get("properties")
        and "patternProperties" not in part
        and not isinstance(part.get("additionalProperties"), dict)
    ):
        for name, each in part["properties"].items():
            yield from _paths(whole, each, f"{path}.{name}" if path else name)
    elif isinstance(part.get("additionalProperties"), dict) and part["additionalProperties"]:
        yield from _paths(whole, part["additionalProperties"], f"{path}{{}}")
    else:
        yield path + ("{}" if part.get("type") == "object" else "[]" if part.get("type") == "array" else "")


def of_docs() -> dict[str, set[str]]:
    """Return the paths in each list of docs/verify.md."""
    text = DOCS.read_text(encoding="utf-8")
    found: dict[str, set[str]] = {}
    for name in (HELD, COMPUTED, SIGNED):
        rows = text.partition(f"<!-- fields: {name} -->")[2].partition("<!-- end -->")[0].splitlines()[3:]
        words = [word for row in rows for word in re.findall(r"`([^`]+)`", row.split(" | ")[0])]
        found[name] = {path for word in words for path in _expanded(word)}
    return found


def _expanded(word: str) -> list[str]:
    """Return `a.b` and `a.c` for `a.{b,c}`."""
    choice = re.search(r"\{((?:[^{}]|\{\})*,(?:[^{}]|\{\})*)\}", word)
    if choice is None:
        return [word]
    return [
        path for one in choice[1].split(",") for path in _expanded(word[: choice.start()] + one + word[choice.end() :])
    ]


def path_of(place: Place, known: set[str]) -> str:
    """Return the path of a place in an entry as the schema has it; what an open part holds is `{}` of that part."""
    paths = [""]
    for step in place:
        if isinstance(step, int):
            paths = [f"{path}[]" for path in paths]
        else:
            paths = [each for path in paths for each in (f"{path}.{step}" if path else step, f"{path}{{}}")]
        begun = [
            path
            for path in paths
            if any(one == path or one.startswith((f"{path}.", f"{path}[", f"{path}{{")) for one in known)
        ]
        if not begun:
            return next((path for path in known if path.endswith("{}") and _open(place, path)), "open: " + str(place))
        paths = begun
    return next((path for path in paths if path in known), "open: " + str(place))


def _open(place: Place, path: str) -> bool:
    names = [step for step in place if not isinstance(step, int)]
    words = re.findall(r"[^.\[\]{}]+", path)
    return names[: len(words)] == words


def places(entry: Mapping[str, Any], known: set[str]) -> dict[str, Place]:
    """Return a place of each field that is not null in an entry, by its path."""
    found: dict[str, Place] = {}
    for place, _ in leaves(entry):
        path = path_of(place, known)
        if not path.startswith("open: "):  # fields of a part that may have more than those of the schema
            found.setdefault(path, place)
    return found


def named_by(run: RecordedRun, trial: RecordedTrial, place: Place, again: bool) -> str:
    """Edit a field in every copy of a trial; return which list the field belongs to by what names the edit."""
    entry = copy.deepcopy(dict(trial.entry or {}))
    value: Any = entry
    for step in place:
        value = value[step]
    put(entry, place, changed(value))
    try:
        record = validated(TRIAL, entry, "results.json", "results.json")
        other = RecordedTrial(run.folder, record, entry)
        figures = {name: one.to_json() for name, one in quantities(record).items()}
        other.__dict__["file"] = entry | {"quantities": figures}  # what trial.json would have
        trials = tuple(other if each is trial else each for each in run.trials)
        whole = RecordedRun(run.folder, run.results | {"trials": [each.record for each in trials]}, trials)  # type: ignore[typeddict-item]
        alone = RecordedRun(run.folder, whole.results, (other,))
        checks = made(alone, (*OF_TRIAL, *thorough.OF_TRIAL), ())
        checks += made(whole, (), [check for check in (*OF_RUN, *thorough.OF_RUN) if check not in COPIES])
        if any(check.found for check in checks):
            return HELD
        done = recomputed(other) if again else None
    except RigError:
        return REFUSED
    return SIGNED if done is None or done.verified else COMPUTED
