"""The two settings of every row: `base`, the defaults but for what makes tensors move, and `varied`, another value of whatever changes bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hil.training.methods import METHODS
from hil.training.methods.default_rates import by_format

Settings = dict[str, Any]
BASE, VARIED = "base", "varied"

ELASTICZO: dict[str, Settings] = {
    "full-zo": {"batch": 3, "loss": "integer", "perturb": "exact", "r_max": 31, "b_zo": 2},
    "cls2": {"batch": 3, "loss": "integer", "loss_fraction": 4, "scope": "batch", "p_zero": 128, "r_max": 31},
    "cls1": {"batch": 4, "scope": "batch", "logit_error": "zero-sum", "b_bp": 4, "r_max": 63, "perturb": "exact"},
    "full-bp": {"batch": 3, "scope": "batch", "logit_error": "zero-sum", "b_bp": 3},
}
POOR_MANS: dict[str, Settings] = {
    "adaptive": {"batch": 3, "queries": 3, "gns": 0},
    "weight": {"batch": 2, "queries": 4, "difference": "central", "direction": "batch"},
    "node": {"batch": 3, "queries": 2, "train_bias": 0},
    "model-weight": {"batch": 2, "queries": 5, "difference": "central", "qas": 0, "gns": 0, "eta": 3e4},
    "model-node": {"batch": 3, "queries": 4, "direction": "batch", "gns": 0, "eta": 0.03},
    "selected": {"batch": 2, "queries": 3, "perturb": "weight"},
    "block1": {"batch": 3, "queries": 7, "perturb": "node"},
    "block2": {"batch": 3, "queries": 7, "perturb": "weight", "direction": "batch"},
    "block3": {"batch": 3, "queries": 1, "gns": 0},
    "block4": {"batch": 3, "queries": 127, "train_bias": 0},
}
OTHERS: dict[tuple[str, str], tuple[Settings, Settings]] = {
    ("mezo", "mezo"): (
        {"batch": 4, "eta": 1e3},
        {"batch": 3, "eta": 0.03, "direction": "batch", "queries": 2, "qas": 1},
    ),
    ("deepzero", "dense"): ({"train": "last", "eta": 1.0}, {"batch": 2, "train": "bias", "blocks": 9, "eta": 0.3}),
    ("deepzero", "sparse"): (
        {"batch": 2, "blocks": 8, "eta": 1.0},
        {"batch": 2, "sparsity": 254, "blocks": 13, "train_bias": 0, "eta": 1.0},
    ),
    ("deepzero", "last-sparse"): ({"batch": 4, "eta": 1.0}, {"batch": 3, "sparsity": 100, "qas": 0, "eta": 1048576.0}),
    ("last-layer", "adaptive"): ({}, {"batch": 3, "queries": 30, "perturb": "node", "eta": 0.1}),
    ("bias-only", "adaptive"): ({}, {"batch": 2, "queries": 3, "perturb": "weight", "eta": 0.1}),
    ("int8-bp", "plain"): ({"eta": 3000.0}, {"batch": 3, "momentum": 0.5, "eta": 3000.0}),
    ("int8-bp", "qas"): ({}, {"batch": 3, "train_bias": 0, "eta": 0.1}),
    ("mcutrain", "block3"): ({}, {"batch": 3, "momentum": 0.0, "qas": 0, "eta": 3e4}),
    ("tinytrain", "budget"): (
        {},
        {"batch": 3, "momentum": 0.5, "memory_budget": 12_000, "work_budget": 200, "channels": 100, "eta": 0.03},
    ),
    ("tinytrain", "whole"): (
        {},
        {"batch": 2, "momentum": 0.0, "qas": 0, "train_bias": 0, "blocks": 14, "work_budget": 128, "channels": 1}
        | {"eta": 3e3},
    ),
}
FLOAT32: dict[str, Settings] = {
    "full-zo": {"batch": 3, "epsilon": 0.01, "eta": 0.05, "g_clip": 0.5},
    "cls2": {"batch": 2, "epsilon": 2.0**-10, "eta": 0.2, "g_clip": 65536.0},
    "cls1": {"batch": 5, "epsilon": 0.03, "eta": 0.01, "g_clip": 0.01},
    "full-bp": {"batch": 3, "eta": 0.1},
}
QZO_FF: dict[str, tuple[Settings, Settings]] = {
    "full": ({}, {"directions": 3, "train_bias": 1, "warmup": 2, "steps": 9, "eta_min": 1e-4}),
    "linear-probe": ({}, {"directions": 127, "train_bias": 1, "optimizer": "adamw", "guide": 256, "eta": 0.01}),
    "last-3": ({}, {"sparse": "threshold", "threshold": 0.05, "normalise": 1, "train_bias": 1}),
    "adamw": ({}, {"beta1": 0.0, "beta2": 0.5, "rho": 0.001, "sparse": "random", "train_bias": 1}),
    "binomial": ({}, {"directions": 2, "guide": 200, "guide_from": 1, "smoothing": 255, "sparse": "top"}),
    "guided": ({}, {"guide": 256, "guide_from": 2, "smoothing": 1, "train_bias": 1, "last_layers": 4}),
    "sharpness": ({}, {"rho": 0.01, "epsilon": 0.01, "directions": 2}),
    "sparse": ({}, {"sparse": "random", "keep": 200, "optimizer": "adamw"}),
    "normalised": ({}, {"train_bias": 1, "distribution": "binomial", "last_layers": 2}),
    "enhanced": ({}, {"directions": 5, "keep": 1, "smoothing": 128, "distribution": "binomial"}),
}
FQT: dict[str, tuple[Settings, Settings]] = {
    "uint8": ({}, {"standardise": "batch", "error_range": "running", "eta": 0.01}),
    "mixed": (
        {},
        {
            "standardise": "off",
            "gradient": "mean",
            "optimizer": "adam",
            "eta": 0.01,
            "range_momentum": 0.25,
            "range_growth": 0.0,
        },
    ),
    "float32": (
        {},
        {"standardise": "accumulated", "epsilon": 0.001, "optimizer": "momentum", "eta": 0.01, "train_bias": 0},
    ),
    "sparse": ({}, {"lambda_max": 0.5, "rate": "difference", "sparse_head": 1, "statistics_momentum": 0.25}),
    "last-5": ({}, {"last_layers": 2, "standardise": "off", "gradient": "mean", "eta": 0.1}),
}
QUZO: dict[str, tuple[Settings, Settings]] = {  # resnet-tiny has a channel with a step so small that epsilon is, too
    "full": ({"epsilon": 2e-4, "eta": 1e-5}, {"epsilon": 1e-4, "eta": 1e-6}),
    "linear-probe": ({}, {"directions": 127, "epsilon": 0.05, "eta": 0.1}),
    "last-3": ({}, {"directions": 3, "last_layers": 4, "epsilon": 0.001, "eta": 1e-4}),
    "two-directions": ({"epsilon": 2e-4, "eta": 2e-5}, {"directions": 5, "epsilon": 1.5e-4, "eta": 1e-5}),
}
PERTURBED_SCALES: dict[str, tuple[Settings, Settings]] = {
    "full": ({}, {"epsilon": 0.03, "eta": 0.05, "clip": 0.5}),
    "linear-probe": ({"eta": 0.05}, {"epsilon": 2.0**-10, "eta": 1.0, "clip": 0.01}),
    "last-3": ({"eta": 0.05}, {"last_layers": 4, "epsilon": 0.001, "eta": 0.1}),
}
CHOSEN: dict[tuple[str, str], tuple[Settings, Settings]] = {
    **{("elasticzo-int8", variant): ({"batch": 8}, varied) for variant, varied in ELASTICZO.items()},
    **{("poor-mans-training", variant): ({}, {"eta": 0.1} | varied) for variant, varied in POOR_MANS.items()},
    **{("elasticzo-fp32", variant): ({"batch": 4}, varied) for variant, varied in FLOAT32.items()},
    **{("qzo-ff", variant): ({"batch": 3} | base, {"batch": 2} | varied) for variant, (base, varied) in QZO_FF.items()},
    **{("quzo", variant): ({"batch": 3} | base, {"batch": 2} | varied) for variant, (base, varied) in QUZO.items()},
    **{
        ("perturbed-scales", variant): ({"batch": 3} | base, {"batch": 2} | varied)
        for variant, (base, varied) in PERTURBED_SCALES.items()
    },
    **{("fqt", variant): ({"batch": 3} | base, {"batch": 2} | varied) for variant, (base, varied) in FQT.items()},
    **OTHERS,
}
SEEDS = {BASE: 2, VARIED: 7}


def settings_of(method: str, variant: str) -> dict[str, Settings]:
    """Return both settings, in what they differ from the variant's own; `batch` and `seed` are always among them.

    Raises:
        LookupError: a method or variant for which none have been chosen.
    """
    if (method, variant) not in CHOSEN:
        raise LookupError(
            f"{method} {variant} has no golden settings: choose two in {Path(__file__).name}, then make the files."
        )
    table = METHODS[method].kind.table
    own = {
        name: table[name].default for name in by_format(method)
    }  # a trial's defaults may change, and no row with them
    pairs = zip((BASE, VARIED), CHOSEN[method, variant], strict=True)
    return {name: {"batch": 1, "seed": SEEDS[name]} | own | chosen for name, chosen in pairs}
