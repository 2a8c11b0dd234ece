"""What the paper says beside what was found here: ElasticZO (Sugiura and Matsutani), sections 4.3, 5.2 to 5.4 and table 1."""

from __future__ import annotations

from dataclasses import dataclass

from hil.record import TrialRecord

# Table 1, accuracy in percent on MNIST and Fashion-MNIST after 100 epochs of 50,000 images, batch 256: INT8 and INT8*.
TABLE_1 = {
    "full-zo": {"mnist": (89.78, 88.92), "fashion-mnist": (73.98, 71.02)},
    "cls2": {"mnist": (94.34, 93.92), "fashion-mnist": (80.33, 77.93)},
    "cls1": {"mnist": (97.34, 95.83), "fashion-mnist": (84.66, 81.60)},
    "full-bp": {"mnist": (98.77, None), "fashion-mnist": (90.40, None)},
}
WEIGHTS_BY_ZO = {"cls1": 96_630, "cls2": 106_710, "full-zo": 107_550, "full-bp": 0}  # section 5.2, without biases


@dataclass(frozen=True)
class Row:
    """One figure of the paper, what was found here, and what differs in the setting."""

    what: str
    paper: str
    here: str
    differs: str


def comparison(trial: TrialRecord) -> list[Row]:
    """Return the rows that a trial of ElasticZO-INT8 on LeNet-5 can be held against; empty for any other."""
    if trial.network != "lenet5" or trial.method != "elasticzo-int8" or trial.analytic is None:
        return []
    rows = [
        Row(
            "weights by zeroth order", f"{WEIGHTS_BY_ZO[trial.variant]:,}", f"{trial.analytic['weights_by_zo']:,}", "–"
        ),
        Row(
            f"training memory, equation {trial.analytic['equation']}",
            f"{trial.analytic['bytes']:,} B",
            "–" if trial.sram["arena_peak"] is None else f"{trial.sram['arena_peak']:,} B of arena in use",
            "the paper keeps every activation of the batch; here buffers share memory by lifetime"
            + (" and samples stream" if trial.settings.get("scope") == "sample" else ""),
        ),
    ]
    if trial.cycles and trial.variant != "full-bp":
        share = trial.cycles["forward"] / trial.cycles["total"]
        rows.append(
            Row(
                "share of forward passes in a step",
                "94.8–97.1 %",
                f"{share:.1%}",
                "the paper: wall time on a Raspberry Pi Zero 2",
            )
        )
    if trial.signs is not None and trial.signs["of"]:
        share = trial.signs["right"] / trial.signs["of"]
        settings = f"batch {trial.batch}, r_max {trial.settings.get('r_max')}, {trial.signs['of']} steps from the start of training"
        rows.append(Row("right signs of INT8*", "about 95 %", f"{share:.1%}", f"here {settings}; the paper: batch 256"))
    return rows + _accuracy(trial)


def _accuracy(trial: TrialRecord) -> list[Row]:
    kind = next((name for name in ("fashion-mnist", "mnist") if name in trial.data), None)
    if trial.accuracy["after"] is None or kind is None:
        return []
    integer = trial.settings.get("loss") == "integer"
    figure = TABLE_1[trial.variant][kind][integer]
    if figure is None:
        return []
    setting = f"here {trial.steps_compared} steps of {trial.batch} on {trial.data}; the paper: 100 epochs, batch 256"
    return [Row("accuracy, table 1", f"{figure:.2f} %", f"{100 * trial.accuracy['after']:.1f} %", setting)]
