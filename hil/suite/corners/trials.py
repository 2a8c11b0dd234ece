"""The trials of the drawn networks: methods, variants and settings that together reach every corner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hil import boards
from hil.suite.corners.networks import write_network
from hil.suite.corners.samples import write_samples
from hil.trial import TrialSpec


@dataclass(frozen=True)
class Corner:
    """A trial of a drawn network.

    Attributes:
        network, seed: the network.
        method, variant: how it is trained.
        settings: of the method.
        tier: in which it runs.
        fields: of `TrialSpec`, which differ from 3 steps with batches of 3 and an evaluation of 7 samples. A network
            that is to lie in flash lies in RAM on a board that has no such flash.
    """

    network: str
    seed: int
    method: str
    variant: str
    settings: Mapping[str, float | str] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    tier: str = "quick"

    @property
    def name(self) -> str:
        """Of its test."""
        return f"{self.network}-{self.seed}-{self.method}-{self.variant}"

    def spec(self, board: str, folder: Path) -> TrialSpec:
        """Return the trial on a board; network and samples are written into a folder."""
        path, graph = write_network(folder, self.network, self.seed)
        data = write_samples(folder / "samples.npz", self.seed, graph.in_shape, graph.classes)
        fields = {"batch": 3, "steps": 3, "evaluate": 7, "seed": self.seed, **self.fields}
        if boards.load(board).room_for_data is None:
            fields.pop("network_in", None)
        return TrialSpec(board, self.variant, str(path), self.method, data, settings=self.settings, **fields)


def _corner(
    network: str, seed: int, method: str, variant: str, settings: Mapping[str, float | str], **fields: Any
) -> Corner:
    return Corner(network, seed, method, variant, settings, fields)


LARGE_AND_SMALL = ((1, {"eta": 1e-40}), (2, {"eta": 1e-16}), (3, {"eta": 2.0**20}))
STREAMED = {"batch": 5, "slots": 2}
QUICK = (
    _corner("windows-tflite8", 1, "poor-mans-training", "adaptive", {"eta": 0.1, "queries": 2}),
    _corner(
        "windows-tflite8", 2, "poor-mans-training", "weight", {"eta": 0.5, "queries": 2, "difference": "central",
        "direction": "batch", "fused": 1}, requests=True, **STREAMED
    ),
    _corner("windows-tflite8", 3, "poor-mans-training", "node", {"eta": 0.1, "queries": 1, "consumed": 1}, batch=1),
    _corner(
        "windows-tflite8", 4, "poor-mans-training", "model-weight", {"eta": 3e4, "queries": 5, "difference":
        "central", "qas": 0, "gns": 0, "fused": 1}
    ),
    _corner(
        "windows-tflite8", 5, "poor-mans-training", "model-node", {"eta": 0.03, "queries": 2, "direction": "batch",
        "gns": 0}
    ),
    _corner("windows-tflite8", 6, "mezo", "mezo", {"eta": 0.03, "direction": "batch", "queries": 2, "qas": 1}),
    _corner(
        "windows-tflite8", 7, "deepzero", "sparse", {"eta": 1.0, "sparsity": 225, "blocks": 13}, batch=2,
        network_in="flash", steps=2
    ),
    _corner("windows-tflite8", 8, "deepzero", "dense", {"eta": 0.3, "train": "bias", "qas": 1}, batch=2, steps=2),
    _corner("windows-even", 9, "bias-only", "adaptive", {"eta": 0.1, "queries": 3, "perturb": "weight"}),
    _corner(
        "windows-tflite8", 10, "last-layer", "adaptive", {"eta": 0.1, "queries": 30, "perturb": "node", "fused": 1,
        "consumed": 1}, batch=1
    ),
    _corner("planes-tflite8", 11, "poor-mans-training", "block3", {"eta": 0.1, "queries": 3}),
    _corner("planes-tflite8", 12, "int8-bp", "qas", {"eta": 0.1}),
    _corner("errors-tflite8", 16, "int8-bp", "qas", {"eta": 0.1}, steps=5, schedule=LARGE_AND_SMALL),
    _corner(
        "errors-tflite8", 17, "tinytrain", "budget", {"train": "bias", "memory_budget": 120, "channels": 100, "eta":
        0.1}
    ),
    _corner("dense-tflite8", 13, "int8-bp", "qas", {"eta": 0.1, "momentum": 0.9}),
    _corner("dense-tflite8", 14, "poor-mans-training", "adaptive", {"eta": 0.1, "queries": 2}),
    _corner("errors-even", 1, "int8-bp", "qas", {"eta": 0.1}),
    _corner("errors-tflite8", 2, "int8-bp", "plain", {"eta": 3000.0, "momentum": 0.5}, **STREAMED),
    _corner(
        "errors-tflite8", 3, "mcutrain", "block3", {"eta": 0.1, "train": "pointwise-last", "fused": 1, "consumed":
        1}, batch=1
    ),
    _corner(
        "errors-tflite8", 4, "tinytrain", "budget", {"memory_budget": 900, "work_budget": 150, "channels": 100,
        "eta": 0.03, "ranking": 2}, steps=5, schedule=((3, {"eta": 0.01}),)
    ),
    _corner(
        "errors-tflite8", 5, "tinytrain", "whole", {"momentum": 0.0, "qas": 0, "eta": 3e3, "channels": 77}, steps=4
    ),
    _corner(
        "dense-tflite8", 15, "tinytrain", "budget", {"memory_budget": 9000, "channels": 128, "eta": 0.1},
        first_step=2, steps=3
    ),
    _corner(
        "windows-w16a8", 1, "qzo-ff", "full", {"directions": 3, "train_bias": 1, "warmup": 2, "steps": 3, "eta_min":
        1e-4, "eta": 0.01}, steps=5
    ),
    _corner(
        "windows-w16a8", 2, "qzo-ff", "guided", {"guide": 200, "guide_from": 1, "smoothing": 77, "train_bias": 1,
        "directions": 2, "eta": 0.01}, steps=4
    ),
    _corner(
        "windows-w16a8", 3, "qzo-ff", "sparse", {"sparse": "threshold", "threshold": 0.3, "normalise": 1,
        "train_bias": 1, "eta": 0.05}
    ),
    _corner(
        "windows-w16a8", 4, "qzo-ff", "adamw", {"beta1": 0.5, "beta2": 0.5, "rho": 0.01, "sparse": "random",
        "train_bias": 1, "eta": 0.05}, network_in="flash", requests=True, **STREAMED
    ),
    _corner("dense-w16a8", 7, "qzo-ff", "full", {"eta": 0.03, "directions": 2, "train_bias": 1}),
    _corner("planes-w16a8", 9, "qzo-ff", "sharpness", {"eta": 1.0, "epsilon": 0.06, "rho": 0.01, "train_bias": 1}),
    _corner("planes-w16a8", 8, "qzo-ff", "binomial", {"eta": 0.03, "guide": 100, "last_layers": 4}),
    _corner(
        "windows-8w8a", 1, "qzo-ff", "enhanced", {"directions": 2, "keep": 100, "smoothing": 128, "distribution":
        "binomial", "eta": 0.5, "epsilon": 0.05}
    ),
    _corner("windows-even8w8a", 6, "qzo-ff", "full", {"eta": 1.0, "epsilon": 0.06, "train_bias": 1}),
    _corner("errors-floor", 1, "fqt", "uint8", {"eta": 0.05}),
    _corner("dense-nearest", 2, "fqt", "uint8", {"eta": 0.05}),
    _corner(
        "planes-nearest", 3, "fqt", "uint8", {"eta": 0.05, "gradient": "mean", "standardise": "accumulated",
        "optimizer": "momentum"}
    ),
    _corner("planes-floor", 4, "fqt", "uint8", {"eta": 0.05, "standardise": "batch"}),
    _corner(
        "gates-nearest", 2, "fqt", "uint8", {"eta": 0.05, "standardise": "batch", "error_range": "running",
        "gradient": "mean", "range_momentum": 0.25}, network_in="flash", requests=True, **STREAMED
    ),
    _corner("gates-mixed", 3, "fqt", "mixed", {"eta": 0.05, "standardise": "off", "range_growth": 0.0}),
    _corner(
        "errors-mixed", 4, "fqt", "sparse", {"eta": 0.05, "lambda_min": 0.2, "lambda_max": 0.8, "rate":
        "difference", "sparse_head": 1}, steps=5
    ),
    _corner("gates-evenaffine", 6, "fqt", "sparse", {"eta": 0.05, "lambda_min": 0.1}, steps=5),
    _corner(
        "dense-floor", 6, "fqt", "sparse", {"eta": 0.05, "lambda_min": 0.3, "lambda_max": 0.7, "sparse_head": 1},
        steps=4
    ),
    _corner("errors-narrow", 8, "fqt", "uint8", {"eta": 0.05, "range_growth": 0.5}),
    _corner("gates-narrow", 9, "fqt", "uint8", {"eta": 1.0, "error_range": "running", "standardise": "off"}),
    _corner("errors-late", 7, "fqt", "last-5", {"eta": 0.05, "lambda_min": 0.5, "error_range": "running"}),
    _corner("errors-float32", 6, "fqt", "float32", {"eta": 0.05, "standardise": "batch", "train_bias": 0}),
    _corner("gates-float32", 7, "fqt", "sparse", {"eta": 0.05, "lambda_min": 0.3, "last_layers": 4}, steps=4),
    _corner("planes-float32", 8, "fqt", "sparse", {"eta": 0.05, "lambda_min": 0.3}, steps=2),
    _corner("errors-float32", 1, "elasticzo-fp32", "full-bp", {"eta": 0.1}),
    _corner(
        "gates-float32", 2, "elasticzo-fp32", "cls2", {"eta": 0.2, "epsilon": 2.0**-10, "g_clip": 0.5},
        **STREAMED
    ),
    _corner("gates-float32", 4, "elasticzo-fp32", "full-bp", {"eta": 0.05}),
    _corner("planes-float32", 5, "elasticzo-fp32", "full-bp", {"eta": 0.05}, steps=1),
    _corner("dense-float32", 6, "elasticzo-fp32", "full-bp", {"eta": 0.05}, steps=1),
    _corner("windows-float32", 3, "elasticzo-fp32", "full-zo", {"eta": 0.05, "epsilon": 0.03, "g_clip": 65536.0}),
    _corner(
        "windows-bfp8", 1, "elasticzo-int8", "full-zo", {"r_max": 31, "b_zo": 2, "perturb": "exact", "loss":
        "integer"}
    ),
    _corner(
        "windows-bfp8", 2, "elasticzo-int8", "cls2", {"loss": "integer", "loss_fraction": 4, "scope": "batch",
        "p_zero": 128, "r_max": 127}, requests=True
    ),
    _corner(
        "windows-bfp8", 3, "elasticzo-int8", "cls1", {"logit_error": "zero-sum", "b_bp": 7, "b_zo": 7, "r_max": 100},
        **STREAMED
    ),
    _corner("windows-bfp8", 4, "elasticzo-int8", "full-bp", {"b_bp": 3}),
    _corner("dense-bfp8", 5, "elasticzo-int8", "full-bp", {"b_bp": 4, "scope": "batch"}),
    _corner("dense-bfp8", 6, "elasticzo-int8", "cls1", {"b_bp": 4, "r_max": 110, "b_zo": 6}),
    # rows at the limit of a buffer, strides beyond the kernel, exact halves, one sign, no error at all, and overflow
    _corner("tight-tflite8", 1, "int8-bp", "qas", {"eta": 0.1, "momentum": 0.9}),
    _corner("tight-tflite8", 2, "poor-mans-training", "weight", {"eta": 0.5, "queries": 2}, batch=8, slots=4, steps=2),
    _corner("tight-tflite8", 3, "poor-mans-training", "node", {"eta": 0.1, "queries": 1}, steps=2),
    _corner("windows-w16a8", 5, "quzo", "full", {"directions": 2, "epsilon": 0.01, "eta": 0.01}),
    _corner("windows-8w8a", 2, "quzo", "full", {"epsilon": 0.05, "eta": 0.05}, network_in="flash"),
    _corner("planes-tflite8", 3, "quzo", "full", {"directions": 2, "epsilon": 0.01, "eta": 0.01}, network_in="flash"),
    _corner("planes-tflite8", 4, "perturbed-scales", "full", {"epsilon": 0.03, "clip": 0.5}, requests=True),
    _corner("windows-tflite8", 3, "perturbed-scales", "last-3", {"eta": 1.0}, network_in="flash", **STREAMED),
    _corner("tight-w16a8", 1, "qzo-ff", "adamw", {"train_bias": 1, "eta": 0.05}, steps=2),
    _corner("tightgates-nearest", 1, "fqt", "sparse", {"eta": 0.05, "lambda_min": 0.4}),
    _corner("tight-float32", 1, "fqt", "sparse", {"eta": 0.05, "lambda_min": 0.4}, steps=2),
    _corner("tightgates-float32", 2, "elasticzo-fp32", "full-bp", {"eta": 0.05}, steps=2),
    _corner("tight-bfp8", 1, "elasticzo-int8", "full-bp", {"b_bp": 4}, batch=8),
    _corner("whole-bfp8", 2, "elasticzo-int8", "full-bp", {"b_bp": 4}),
    _corner("loud-bfp8", 1, "elasticzo-int8", "full-bp", {"b_bp": 4}, steps=2),
    _corner("strides-tflite8", 1, "int8-bp", "qas", {"eta": 0.1}, network_in="flash", requests=True),
    _corner("strides-nearest", 1, "fqt", "uint8", {"eta": 0.05, "optimizer": "adam"}),
    _corner("strides-float32", 1, "elasticzo-fp32", "full-bp", {"eta": 0.05}),
    _corner(
        "tall-tflite8", 1, "tinytrain", "budget", {"memory_budget": 4000, "work_budget": 130, "channels": 100, "eta":
        0.03}, requests=True
    ),
    _corner(
        "tiny-nearest", 1, "fqt", "uint8", {"eta": 0.05, "optimizer": "momentum"}, steps=4,
        schedule=((2, {"eta": 0.02}),)
    ),
    _corner("tiny-faint", 3, "fqt", "mixed", {"eta": 0.05}, steps=1, requests=True),
    _corner("tiny-faint", 4, "fqt", "mixed", {"eta": 0.05}, steps=1, requests=True),
    _corner("dead-nearest", 1, "fqt", "uint8", {"eta": 0.05}),
    _corner("large-huge", 1, "elasticzo-fp32", "full-bp", {"eta": 0.05}, requests=True, **STREAMED),
    # rows of every remainder, one of everything, the knees of activations, tensors of more than 2^15 weights
    _corner("rows-floor", 1, "fqt", "uint8", {"eta": 0.05}, steps=2),
    _corner("rows-nearest", 2, "fqt", "sparse", {"eta": 0.05, "lambda_min": 0.5}, steps=2),
    _corner("rows-tflite8", 3, "int8-bp", "qas", {"eta": 0.1, "momentum": 0.5}, steps=2),
    _corner("rows-float32", 4, "elasticzo-fp32", "full-bp", {"eta": 0.05}, batch=1, steps=2),
    _corner("single-tflite8", 5, "int8-bp", "qas", {"eta": 0.1}, requests=True),
    _corner("single-nearest", 2, "fqt", "uint8", {"eta": 0.05}, requests=True),
    _corner("single-w16a8", 3, "qzo-ff", "full", {"eta": 0.05, "train_bias": 1}, requests=True),
    _corner("single-float32", 4, "elasticzo-fp32", "full-bp", {"eta": 0.05}, requests=True),
    _corner("knees-evenaffine", 1, "fqt", "uint8", {"eta": 0.05}),
    _corner("knees-floateven", 2, "elasticzo-fp32", "full-bp", {"eta": 0.05}),
    _corner("inputs-float32", 1, "elasticzo-fp32", "full-bp", {"eta": 0.05}),
    _corner("inputs-float32", 2, "fqt", "float32", {"eta": 0.05, "standardise": "off", "optimizer": "adam"}),
    _corner("inputs-nearest", 3, "fqt", "uint8", {"eta": 0.05}),
    _corner("long-w16a8", 1, "qzo-ff", "full", {"eta": 0.03, "directions": 2}, steps=2, evaluate=3),
    _corner("long-tflite8", 2, "mezo", "mezo", {"eta": 3e5, "queries": 2}, batch=2, steps=2, evaluate=3),
    _corner("long-bfp8", 3, "elasticzo-int8", "full-zo", {"r_max": 31}, batch=2, steps=2, evaluate=3),
    _corner("soft-bfp8", 1, "elasticzo-int8", "cls1", {"loss": "integer", "loss_fraction": 4, "b_zo": 2}),
    _corner("soft-bfp8", 2, "elasticzo-int8", "full-zo", {"loss": "integer", "loss_fraction": 6, "scope": "batch"}),
    _corner("large-huge", 2, "fqt", "float32", {"eta": 0.05, "standardise": "running"}, steps=3),
)  # fmt: skip
NIGHTLY = tuple(replace(each, tier="nightly") for each in (
    _corner("broad-tflite8", 1, "int8-bp", "qas", {"eta": 0.1, "momentum": 0.5}),
    _corner("broad-tflite8", 4, "int8-bp", "qas", {"eta": 0.1}, steps=5),
    _corner("broad-octaves", 2, "int8-bp", "qas", {"eta": 0.1}),
    _corner("broad-tflite8", 3, "tinytrain", "whole", {"eta": 0.1, "channels": 100}, batch=1),
    _corner("broad-nearest", 1, "fqt", "uint8", {"eta": 0.05}),
    _corner("broad-floor", 2, "fqt", "sparse", {"eta": 0.05, "lambda_min": 0.4}, steps=2),
    _corner("broad-w16a8", 1, "qzo-ff", "full", {"eta": 0.05, "directions": 2, "train_bias": 1}),
    _corner("broad-bfp8", 1, "elasticzo-int8", "full-bp", {"b_bp": 4}),
    _corner("many-tflite8", 1, "int8-bp", "qas", {"eta": 0.1}, requests=True),
    _corner("many-tflite8", 2, "poor-mans-training", "adaptive", {"eta": 0.1, "queries": 2}),
    _corner("many-nearest", 1, "fqt", "sparse", {"eta": 0.05, "lambda_min": 0.4}, requests=True),
    _corner("many-w16a8", 1, "qzo-ff", "full", {"eta": 0.05, "train_bias": 1}, requests=True),
    _corner("many-float32", 1, "elasticzo-fp32", "full-bp", {"eta": 0.05}, batch=1, requests=True),
    _corner("many-bfp8", 1, "elasticzo-int8", "full-bp", {"b_bp": 4}, batch=2, requests=True),
    _corner("bands-tflite8", 1, "int8-bp", "qas", {"eta": 0.1}, requests=True),
    _corner("bands-tflite8", 2, "mezo", "mezo", {"eta": 0.03, "queries": 2}, batch=2),
    _corner("bands-nearest", 1, "fqt", "uint8", {"eta": 0.05}, requests=True),
    _corner("bands-w16a8", 1, "qzo-ff", "full", {"eta": 0.05, "train_bias": 1}, requests=True),
    _corner("bands-float32", 1, "elasticzo-fp32", "full-bp", {"eta": 0.05}, batch=1, requests=True),
    _corner("bands-bfp8", 1, "elasticzo-int8", "full-bp", {"b_bp": 4}, requests=True),
    _corner("lone-tflite8", 1, "int8-bp", "qas", {"eta": 0.1, "train": "bias"}, requests=True),
    _corner(
        "few-tflite8", 1, "tinytrain", "budget", {"memory_budget": 9000, "work_budget": 150, "eta": 0.1},
        requests=True
    ),
    _corner("lone-nearest", 1, "fqt", "uint8", {"eta": 0.05}),
    _corner("lone-w16a8", 1, "qzo-ff", "adamw", {"eta": 0.05, "train_bias": 1}),
    _corner("lone-float32", 1, "elasticzo-fp32", "full-bp", {"eta": 0.05}),
    _corner("lone-float32", 2, "fqt", "float32", {"eta": 0.05}),
    _corner("lone-bfp8", 1, "elasticzo-int8", "full-bp", {"b_bp": 4}),
    _corner("knees-floatknees", 1, "elasticzo-fp32", "full-bp", {"eta": 0.05}),
    _corner("knees-floatknees", 2, "fqt", "sparse", {"eta": 0.05, "lambda_min": 0.4}),
    _corner("knees-affineknees", 3, "fqt", "uint8", {"eta": 0.05}),
    _corner("errors-octaves", 1, "int8-bp", "qas", {"eta": 0.1}),
))  # fmt: skip
"""Rare events, many channels, bands, one layer, exact knees: what survived a held-out draw, and its kind."""
CORNERS = (*QUICK, *NIGHTLY)
