"""results.csv: one row a trial, and one for every test that made none."""

from __future__ import annotations

from typing import Any

DIFFERENCE_FIELDS = ("step", "layer", "index", "board", "reference", "what")
TABLES = ("memory_plan", "profile", "schedule", "evaluations")
SIGN_FIELDS = ("right", "of", "asked")
ANALYTIC_FIELDS = ("equation", "bytes", "macs_forward", "weights", "weights_by_zo")
LATENCY_FIELDS = ("steps", "provenance", "budget_ms", "judged")
LATENCY_PHASES = ("perturb", "forward", "backward", "update", "digest", "total")
LATENCY_FIGURES = ("mean", "median", "sd", "least", "most", "p5", "p95", "p99", "subtracted", "bound")
QUANTITY_FIELDS = ("value", "unit", "uncertainty", "provenance")
IMAGE_FIELDS = ("file", "digest", "in_manifest")
FLASH_FIELDS = ("route", "programmed", "cycles")
WATERMARK_FIELDS = ("static", "arena_peak", "stack_peak")


def csv_of(tests: list[dict[str, Any]], trials: list[dict[str, Any]]) -> str:
    """Return the text: nested fields as `sram.total`, the same columns whatever a trial found. Tables within a trial stay in the JSON.

    Args:
        tests: entries of `tests` in results.json, each with the folders of its trials.
        trials: entries of `trials`.
    """
    import pandas as pd

    by_folder = {trial["folder"]: trial for trial in trials}
    rows = []
    for test in tests:
        head = {"test": test["test"], "test_verdict": test["verdict"], "test_reason": test["reason"]}
        rows += [head | _trial_row(by_folder[folder]) for folder in test["trials"]]
        if not test["trials"]:
            rows.append(head | {name: test[name] for name in ("board", "verdict", "reason")})
    # Without nullable types a null would turn its column of bytes into floats.
    return pd.json_normalize(rows).convert_dtypes().to_csv(index=False)


def _trial_row(trial: dict[str, Any]) -> dict[str, Any]:
    row = {
        name: " ".join(map(str, item)) if isinstance(item, list) else item
        for name, item in trial.items()
        if name not in TABLES
    }
    row["signs"] = trial["signs"] or dict.fromkeys(SIGN_FIELDS)
    row["analytic"] = trial["analytic"] or dict.fromkeys(ANALYTIC_FIELDS)
    row["latency"] = _latency_row(trial["latency"])
    row["energy"] = {"per_step": (trial["energy"] or {}).get("per_step") or dict.fromkeys(QUANTITY_FIELDS)}
    row["first_difference"] = trial["first_difference"] or dict.fromkeys(DIFFERENCE_FIELDS)
    row["image"] = trial["image"] or dict.fromkeys(IMAGE_FIELDS)
    row["flash"] = trial["flash"] or dict.fromkeys(FLASH_FIELDS)
    row["sram_probe"] = trial["sram_probe"] or dict.fromkeys(WATERMARK_FIELDS)
    return row


def _latency_row(latency: dict[str, Any] | None) -> dict[str, Any]:
    """Columns `latency.steps`, ... and `latency.total.median`, ...; histograms and layers stay in the JSON."""
    found: dict[str, Any] = latency or {}
    phases = found.get("phases", {})
    row: dict[str, Any] = {name: found.get(name) for name in LATENCY_FIELDS}
    return row | {phase: {name: phases.get(phase, {}).get(name) for name in LATENCY_FIGURES} for phase in LATENCY_PHASES}
