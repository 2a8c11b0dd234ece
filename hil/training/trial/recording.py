"""Convert the outcome of a trial to its record."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from hil import boards
from hil.gates import Judgement
from hil.quantity import Provenance
from hil.record import TrialRecord, new_entry
from hil.record.checks.provenance import SRAM_PROVENANCE, STAND_INS
from hil.training.trial.energy_record import energy_json
from hil.training.trial.gating import budgets_of, identity
from hil.training.trial.latency_counts import latency_json
from hil.training.trial.lockstep_outcome import PHASES, LockStepOutcome
from hil.training.trial.outcome import Outcome
from hil.training.trial.prepare import Prepared

LATENCY_WORDS = {"pass": "within", "fail": "beyond", "inconclusive": "inconclusive"}  # by verdict of its budget
# what a blocked trial did not find out
UNKNOWN = dict.fromkeys(name for name, its in TrialRecord.model_fields.items() if its.is_required())


def trial_record(outcome: Outcome, test: str = "", attached: bool | None = None) -> TrialRecord:
    """Return the record of a trial; null stands for what a blocked trial did not find out.

    Args:
        outcome: of the trial, which may still run.
        test: node id of the test that ran it.
        attached: whether rig.toml names the board, so that no stand-in was asked for; None if it is not known.

    Raises:
        Blocked: a figure is not valid in a record.
    """
    prepared, found = outcome.prepared, outcome.compared
    entry = UNKNOWN | identity(outcome) | asdict(outcome.end) | _of_any(outcome)
    entry |= _of_prepared(prepared, outcome.trained) if prepared is not None else {}
    entry |= _of_lockstep(found, outcome.judgements) if found is not None else {}
    return new_entry(TrialRecord, **entry, test=test, attached=attached)


def _of_any(outcome: Outcome) -> dict[str, Any]:
    """Return the entries that every trial has, however far it came."""
    word = Provenance.MEASURED if outcome.reality == "hardware" else Provenance.MODELLED
    return {
        "core": boards.load(outcome.spec.board).core,
        "bit_exact": outcome.bit_exact,
        "steps_compared": len(outcome.steps),
        "accuracy": {
            "before": outcome.accuracy_before,
            "after": outcome.accuracy_after,
            "reference_after": outcome.reference_after,
            "n": outcome.evaluated,
        },
        "sram": _sram(outcome),
        "sram_provenance": SRAM_PROVENANCE,
        "cycles": {},
        "cycles_provenance": word.value,
        "link": asdict(outcome.link) if outcome.link else {},
        "wall_s": round(outcome.wall_s, 3),
        "flash": asdict(outcome.flash) if outcome.flash else None,
        "warnings": _warnings(outcome),
        "evaluate_every": outcome.spec.evaluate_every,
        "gates": [_gate(judged) for judged in outcome.judgements],
        "second_sources": {figure: list(sources) for figure, sources in outcome.figures.sources.items()},
        "wrong_figures": dict(outcome.figures.wrong),
        "began": outcome.began or None,
        "place": outcome.place or None,
    }


def _of_prepared(prepared: Prepared, trained: bytes | None) -> dict[str, Any]:
    """Return the entries of a trial that was prepared, and of the network file that was trained."""
    image, source, network_file = prepared.image, prepared.source, None
    if source is not None:
        network_file = asdict(source.file) | {
            "model": asdict(source.model) if source.model is not None else None,
            "trained_sha256": hashlib.sha256(trained).hexdigest() if trained is not None else None,
        }
    return {
        "image_sha256": image.sha256,
        "network_sha256": prepared.network_sha256,
        "network_file": network_file,
        "data_sha256": prepared.data.sha256,
        "data_card": asdict(prepared.data.card),
        "layers": [tensor.name for tensor in prepared.method.plan.tensors],
        # without its folder, which is private
        "image": {"file": image.path.name, "digest": f"{image.digest:08x}", "in_manifest": not image.own},
        "kept": prepared.kept.as_recorded() if prepared.kept is not None else None,
        "memory_plan": _memory_plan(prepared),
        "analytic": prepared.method.figures.analytic(),
    }


def _of_lockstep(found: LockStepOutcome, judgements: Sequence[Judgement]) -> dict[str, Any]:
    """Return the entries of what board and reference showed beside each other."""
    spec, method, evaluations = found.prepared.spec, found.prepared.method, _evaluations(found)
    entry: dict[str, Any] = {
        "first_difference": asdict(found.difference) if found.difference else None,
        "clock_hz": found.clock_hz,
        "digests": [f"{digest:08x}" for digest in found.final_digests],
        "probe_checks": len(found.probed),
        "probe_agreed": sum(found.probed),
        "sram_probe": asdict(found.sram_probe) if found.sram_probe else None,
        "work": asdict(found.work) if found.work else None,
        "selection": [asdict(tried) for tried in found.selection],
        "evaluations": evaluations,
        "sample_gradients": _sample_gradients(found),
        "energy": energy_json(found.energy, evaluations, spec) if found.energy else None,
        "latency": _latency(found, judgements),
    }
    if found.steps:
        cycles = found.mean_cycles()
        entry |= {"cycles": cycles, "step_time_s": cycles["total"] / found.clock_hz}
        entry["final_digest"] = f"{found.steps[-1].digest:08x}"
        if method.figures.integers_only():  # of INT8*, about 95 % are right in the paper (ElasticZO, section 4.3)
            right = sum(row.right_sign for row in found.steps)
            entry["signs"] = {"right": right, "of": len(found.steps), "asked": spec.steps}
    if found.profile is not None:
        ways = zip(("forward", "backward"), found.profile, strict=True)
        entry["profile"] = {way: dict(zip(method.plan.layers, counts, strict=True)) for way, counts in ways}
    return entry


def steps_table(outcome: Outcome) -> dict[str, np.ndarray]:
    """Return a table with one row for each step: losses of both sides, sign, match, cycles by phase."""
    columns: dict[str, list[Any]] = {}
    for row in outcome.steps:
        flat: dict[str, Any] = asdict(row)
        cycles = flat.pop("cycles")
        for name, value in (flat | {f"cycles_{phase}": cycles[phase] for phase in PHASES}).items():
            columns.setdefault(name, []).append(value)
    return {name: np.array(column) for name, column in columns.items()}


def latency_table(outcome: Outcome) -> dict[str, np.ndarray] | None:
    """Return a table with raw cycles by phase and layer, one row for each autonomous step; None without steps."""
    return outcome.latency.table() if outcome.latency is not None else None


def _latency(found: LockStepOutcome, judgements: Sequence[Judgement]) -> dict[str, Any] | None:
    """Return the figures of latency with their budget; None if no step was completed, or two sources differ."""
    latency = found.latency
    if latency is None or not latency.steps or found.figures.wrong:
        return None
    entry = latency_json(latency, found.prepared.method.figures.bookings(), found.clock_hz)
    for one in judgements:
        if one.gate.name == "latency" and one.gate.limit is not None:
            word = LATENCY_WORDS.get(one.verdict, f"not judged: {latency.provenance.value}")
            return entry | {"budget_ms": 1e3 * one.gate.limit, "judged": word}
    return entry | {"budget_ms": None, "judged": "not judged: no budget"}


def _gate(judged: Judgement) -> dict[str, Any]:
    """Return a budget of the trial with what may be said of its figure."""
    gate, value = judged.gate, judged.value
    return {
        "name": gate.name,
        "source": gate.source,
        "path": gate.figure.path,
        "unit": gate.figure.unit,
        "verdict": judged.verdict,
        "sentence": judged.sentence,
        "value": value.value if value else None,
        "uncertainty": value.uncertainty if value else None,
        "provenance": value.provenance.value if value else None,
        "limit": judged.limit,
        "relative": gate.relative,
        "more": judged.more,
        "more_of": judged.more_of,
    }


def _memory_plan(prepared: Prepared) -> dict[str, Any]:
    """Return the memory plan with the names of its time slots (docs/memory.md); no buffer begins before slot 0."""
    return {
        "total": prepared.plan.total,
        "slots": list(prepared.method.plan.slots()),
        "buffers": [buffer._asdict() | {"first": max(buffer.first, 0)} for buffer in prepared.plan.buffers],
    }


def _evaluations(found: LockStepOutcome) -> list[dict[str, float | int | None]]:
    """Return the points of the accuracy curve."""
    points = (one for one in (found.before, *found.evaluations, found.after) if one is not None)
    return [{**one._asdict(), "n": found.evaluated} for one in points]


def _sample_gradients(found: LockStepOutcome) -> dict[str, Any] | None:
    """Return the maps of a trial whose steps all agreed, or why they are left out; None if the method has none."""
    maps = found.gradients
    if maps is None:
        return None
    reason = maps.trouble
    if found.difference is not None:
        reason = "board and reference differ."
    elif len(found.steps) < found.prepared.spec.steps:
        reason = "the trial ended before its last step was compared."
    if reason:
        return {"left_out": reason, "steps": [], "layers": []}
    return {"left_out": "", "steps": maps.steps, "layers": maps.layers}


def _sram(outcome: Outcome) -> dict[str, Any]:
    prepared, use = outcome.prepared, outcome.sram
    limits = [gate.limit for gate in budgets_of(outcome).get("sram", ()) if gate.limit is not None]
    entry: dict[str, Any] = dict.fromkeys(SRAM_PROVENANCE) | {"regions": []}
    entry["budget"] = round(min(limits)) if limits else None
    if prepared is not None:
        entry |= {"planned": prepared.plan.total, "analytic": prepared.method.figures.analytic()["bytes"]}
    if use is not None:
        entry |= asdict(use.marks) | {"sections": use.sections, "unclaimed": use.unclaimed, "total": use.total}
        entry["regions"] = [
            {
                "memory": row.claim.memory,
                "claimed_by": row.claim.owner,
                "start": row.claim.start,
                "size": row.claim.size,
                "used": row.used,
            }
            for row in use.rows
        ]
    return entry


def _warnings(outcome: Outcome) -> list[str]:
    warnings, prepared = list(outcome.notes), outcome.prepared
    if prepared is not None:
        warnings += prepared.method.figures.remarks()
    if outcome.reality not in (None, "hardware"):
        modelled = "cycles and step time are modelled and say nothing about silicon"
        stand_in = STAND_INS.get(outcome.reality, f"{outcome.reality}: a stand-in of a plugin")
        warnings.append(f"{stand_in}; {modelled}.")
    if prepared is not None and prepared.image.own:
        image = prepared.image
        warnings.append(
            f"own firmware: {image.path.name} (digest {image.digest:08X}) is not in the manifest of prebuilt images."
        )
    if outcome.spec.energy is not None and outcome.energy is None and outcome.verdict == "pass":
        warnings.append(
            "no meter: the energy that was asked for is not measured; name one in rig.toml (`meter = ...`)."
        )
    if outcome.sram_probe is None and outcome.steps:
        warnings.append(
            "no probe: watermarks and weights are the agent's own word, and RAM that nothing claims was not compared."
        )
    return warnings
