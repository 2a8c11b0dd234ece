"""Convert the outcome of a trial to its record."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from typing import Any

import numpy as np

from hil import boards
from hil.images import Image
from hil.quantity import Provenance
from hil.record import TrialRecord, new_entry
from hil.record.checks.provenance import SRAM_PROVENANCE, STAND_INS
from hil.training.trial.energy_record import energy_json
from hil.training.trial.gating import budgets_of, identity
from hil.training.trial.latency_counts import latency_json
from hil.training.trial.outcome import PHASES, Outcome
from hil.training.trial.prepare import Prepared

FROM_OUTCOME = ("bit_exact", "clock_hz", "verdict", "reason", "stage", "probe_checks", "probe_agreed")
LATENCY_WORDS = {"pass": "within", "fail": "beyond", "inconclusive": "inconclusive"}  # by verdict of its budget


def trial_record(outcome: Outcome, test: str = "", attached: bool | None = None) -> TrialRecord:
    """Return the record of a trial; null stands for what a blocked trial did not find out.

    Args:
        outcome: of the trial, which may still run.
        test: node id of the test that ran it.
        attached: whether rig.toml names the board, so that no stand-in was asked for; None if it is not known.

    Raises:
        Blocked: a figure is not valid in a record.
    """
    spec, prepared = outcome.spec, outcome.prepared
    on_silicon = outcome.reality == "hardware"
    cycles = mean_cycles(outcome)
    return new_entry(
        TrialRecord,
        **identity(outcome),
        **{name: getattr(outcome, name) for name in FROM_OUTCOME},
        network_file=_network_file(outcome),
        core=boards.load(spec.board).core,
        steps_compared=len(outcome.steps),
        first_difference=asdict(outcome.difference) if outcome.difference else None,
        final_digest=f"{outcome.steps[-1].digest:08x}" if outcome.steps else None,
        accuracy={
            "before": outcome.accuracy_before,
            "after": outcome.accuracy_after,
            "reference_after": outcome.reference_after,
            "n": outcome.evaluated,
        },
        sram=_sram(outcome),
        sram_provenance=SRAM_PROVENANCE,
        cycles=cycles,
        cycles_provenance=(Provenance.MEASURED if on_silicon else Provenance.MODELLED).value,
        step_time_s=cycles["total"] / outcome.clock_hz if cycles and outcome.clock_hz else None,
        image_sha256=prepared.image.sha256 if prepared else None,
        network_sha256=prepared.network_sha256 if prepared else None,
        data_sha256=prepared.data.sha256 if prepared else None,
        data_card=asdict(prepared.data.card) if prepared else None,
        layers=[tensor.name for tensor in prepared.method.tensors] if prepared else [],
        digests=[f"{digest:08x}" for digest in outcome.final_digests],
        sram_probe=asdict(outcome.sram_probe) if outcome.sram_probe else None,
        link=asdict(outcome.link) if outcome.link else {},
        wall_s=round(outcome.wall_s, 3),
        flash=asdict(outcome.flash) if outcome.flash else None,
        image=_image(prepared.image) if prepared else None,
        warnings=_warnings(outcome),
        signs=_signs(outcome),
        memory_plan=_memory_plan(prepared) if prepared else None,
        profile=_profile(outcome),
        analytic=prepared.method.analytic() if prepared else None,
        work=asdict(outcome.work) if outcome.work else None,
        selection=[asdict(tried) for tried in outcome.selection],
        evaluations=_evaluations(outcome),
        evaluate_every=spec.evaluate_every,
        sample_gradients=_sample_gradients(outcome),
        energy=energy_json(outcome.energy, outcome.laps_s, _evaluations(outcome), spec) if outcome.energy else None,
        latency=_latency(outcome),
        gates=_gates(outcome),
        second_sources={figure: list(sources) for figure, sources in outcome.figures.sources.items()},
        wrong_figures=dict(outcome.figures.wrong),
        test=test,
        began=outcome.began or None,
        attached=attached,
        place=outcome.place or None,
    )


def _network_file(outcome: Outcome) -> dict[str, Any] | None:
    """Return the file of a network that was given by path, and the digest of what was trained."""
    if outcome.prepared is None or outcome.prepared.source is None:
        return None
    source, trained = outcome.prepared.source, outcome.trained
    return {
        **asdict(source.file),
        "model": asdict(source.model) if source.model is not None else None,
        "trained_sha256": hashlib.sha256(trained).hexdigest() if trained is not None else None,
    }


def _image(image: Image) -> dict[str, Any]:
    """Return the name of the firmware file, without its folder, which is private, and its digest."""
    return {"file": image.path.name, "digest": f"{image.digest:08x}", "in_manifest": not image.own}


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


def _latency(outcome: Outcome) -> dict[str, Any] | None:
    """Return the figures of latency with their budget; None if no step was completed, or two sources differ."""
    latency, prepared = outcome.latency, outcome.prepared
    if latency is None or not latency.steps or prepared is None or not outcome.clock_hz or outcome.figures.wrong:
        return None
    found = latency_json(latency, prepared.method.bookings(), outcome.clock_hz)
    judged = [one for one in outcome.judgements if one.gate.name == "latency" and one.gate.limit is not None]
    if not judged:
        return found | {"budget_ms": None, "judged": "not judged: no budget"}
    word = LATENCY_WORDS.get(judged[0].verdict, f"not judged: {latency.provenance.value}")
    return found | {"budget_ms": 1e3 * (judged[0].limit or 0.0), "judged": word}


def _gates(outcome: Outcome) -> list[dict[str, Any]]:
    """Return every budget of the trial with what may be said of its figure."""
    return [
        {
            "name": one.gate.name,
            "source": one.gate.source,
            "path": one.gate.figure.path,
            "unit": one.gate.figure.unit,
            "verdict": one.verdict,
            "sentence": one.sentence,
            "value": one.value.value if one.value else None,
            "uncertainty": one.value.uncertainty if one.value else None,
            "provenance": one.value.provenance.value if one.value else None,
            "limit": one.limit,
            "relative": one.gate.relative,
            "more": one.more,
            "more_of": one.more_of,
        }
        for one in outcome.judgements
    ]


def _signs(outcome: Outcome) -> dict[str, int] | None:
    """Count the steps of INT8* with the right sign: about 95 % in the paper (ElasticZO, section 4.3)."""
    prepared, steps = outcome.prepared, outcome.steps
    if prepared is None or not prepared.method.integers_only() or not steps:
        return None
    return {"right": sum(row.right_sign for row in steps), "of": len(steps), "asked": outcome.spec.steps}


def _memory_plan(prepared: Prepared) -> dict[str, Any]:
    """Return the memory plan with the names of its time slots (docs/memory.md); no buffer begins before slot 0."""
    return {
        "total": prepared.plan.total,
        "slots": list(prepared.method.slots()),
        "buffers": [buffer._asdict() | {"first": max(buffer.first, 0)} for buffer in prepared.plan.buffers],
    }


def _profile(outcome: Outcome) -> dict[str, dict[str, int]] | None:
    if outcome.prepared is None or outcome.profile is None:
        return None
    names = outcome.prepared.method.layers
    directions = zip(("forward", "backward"), outcome.profile, strict=True)
    return {direction: dict(zip(names, cycles, strict=True)) for direction, cycles in directions}


def _evaluations(outcome: Outcome) -> list[dict[str, float | int | None]]:
    """Return the points of the accuracy curve; before training, board and reference have the same accuracy."""
    first = outcome.spec.first_step
    points = [
        (first, outcome.accuracy_before, outcome.accuracy_before),
        *outcome.evaluations,
        (first + len(outcome.steps), outcome.accuracy_after, outcome.reference_after),
    ]
    return [
        {"step": step, "board": board, "reference": reference, "n": outcome.evaluated}
        for step, board, reference in points
        if board is not None
    ]


def _sample_gradients(outcome: Outcome) -> dict[str, Any] | None:
    """Return the maps of a trial whose steps all agreed, or why they are left out; None if the method has none."""
    maps = outcome.gradients
    if maps is None:
        return None
    reason = maps.trouble
    if outcome.difference is not None:
        reason = "board and reference differ."
    elif len(outcome.steps) < outcome.spec.steps:
        reason = "the trial ended before its last step was compared."
    if reason:
        return {"left_out": reason, "steps": [], "layers": []}
    return {"left_out": "", "steps": maps.steps, "layers": maps.layers}


def mean_cycles(outcome: Outcome) -> dict[str, int]:
    """Return the mean cycles of a step by phase; empty without steps."""
    if not outcome.steps:
        return {}
    return {phase: round(sum(row.cycles[phase] for row in outcome.steps) / len(outcome.steps)) for phase in PHASES}


def _sram(outcome: Outcome) -> dict[str, Any]:
    prepared, use = outcome.prepared, outcome.sram
    limits = [gate.limit for gate in budgets_of(outcome).get("sram", ()) if gate.limit is not None]
    return {
        "static": use.marks.static if use else None,
        "arena_peak": use.marks.arena_peak if use else None,
        "stack_peak": use.marks.stack_peak if use else None,
        "sections": use.sections if use else None,
        "unclaimed": use.unclaimed if use else None,
        "total": use.total if use else None,
        "budget": round(min(limits)) if limits else None,
        "planned": prepared.plan.total if prepared else None,
        "analytic": prepared.method.analytic()["bytes"] if prepared else None,
        "regions": [
            {
                "memory": row.claim.memory,
                "claimed_by": row.claim.owner,
                "start": row.claim.start,
                "size": row.claim.size,
                "used": row.used,
            }
            for row in (use.rows if use else ())
        ],
    }


def _warnings(outcome: Outcome) -> list[str]:
    warnings = list(outcome.notes)
    if outcome.prepared is not None:
        warnings += outcome.prepared.method.remarks()
    if outcome.reality not in (None, "hardware"):
        modelled = "cycles and step time are modelled and say nothing about silicon"
        stand_in = STAND_INS.get(outcome.reality, f"{outcome.reality}: a stand-in of a plugin")
        warnings.append(f"{stand_in}; {modelled}.")
    if outcome.prepared is not None and outcome.prepared.image.own:
        image = outcome.prepared.image
        warnings.append(
            f"own firmware: {image.path.name} (digest {image.digest:08X}) is not in the manifest of prebuilt images."
        )
    if outcome.spec.energy is not None and outcome.energy is None and outcome.verdict == "pass":
        warnings.append(
            "no meter: the energy that was asked for is not measured; name one in rig.toml (`meter = ...`)."
        )
    if outcome.prepared is not None and outcome.sram_probe is None and outcome.steps:
        warnings.append(
            "no probe: watermarks and weights are the agent's own word, and RAM that nothing claims was not compared."
        )
    return warnings
