"""Published test accuracies of Poor Man's Training in percent (Zhao et al., tables 4 to 7)."""

from __future__ import annotations

from collections.abc import Mapping

# Table 4, MCUNet on CIFAR-10-C at severity 5, averages over the corruptions of a family.
FAMILIES = ("noise", "blur", "weather", "digital")
TABLE4: Mapping[str, Mapping[str, float]] = {
    row: dict(zip(FAMILIES, values, strict=True))
    for row, values in {
        "block1": (55.17, 78.91, 79.25, 75.76),
        "block2": (65.33, 80.31, 81.33, 77.45),
        "block3": (59.75, 79.51, 81.33, 79.32),
        "block4": (57.11, 78.56, 79.31, 77.11),
        "adaptive": (65.33, 80.91, 82.00, 80.56),
    }.items()
}

# Tables 5 and 6, gaussian noise. Forward passes: MeZO 2.00e7; DeepZero 2.47e9, 9.28e8 and 9.28e7; Poor Man's Training
# 2.00e7.
TABLE5: Mapping[str, float] = {"mezo-batch": 18.33, "deepzero-0.9": 52.78, "pmt": 66.78}
TABLE6: Mapping[str, float] = {"mezo-batch": 40.56, "deepzero-0": 60.67, "deepzero-0.9": 54.33, "pmt": 66.78}

TABLE7_COLUMNS = (
    "gaussian-noise", "shot-noise", "impulse-noise", "speckle-noise",
    "gaussian-blur", "defocus-blur", "motion-blur", "zoom-blur",
    "fog", "brightness", "contrast", "elastic",
)  # fmt: skip
TABLE7: Mapping[str, Mapping[str, float]] = {
    row: dict(zip(TABLE7_COLUMNS, values, strict=True))
    for row, values in {
        "none": (17, 21, 25, 27, 72, 76, 67, 80, 73, 83, 36, 71),
        "bp-fp32": (73.89, 72.44, 76.78, 78.44, 77.89, 81.00, 78.44, 80.78, 82.67, 86.67, 86.33, 76.44),
        "bp-int8": (44.33, 37.78, 41.55, 54.00, 44.11, 65.11, 42.78, 55.57, 34.22, 73.00, 20.27, 77.78),
        "mcutrain": (61.78, 63.67, 55.55, 65.33, 81.55, 83.44, 82.44, 87.33, 76.22, 89.22, 71.78, 81.11),
        "pmt": (66.78, 66.22, 61.00, 67.33, 80.11, 83.67, 81.00, 86.33, 78.33, 88.22, 69.78, 79.56),
    }.items()
}

# Table 10, the average of five data sets; table 11, with the memory in KB that stands beside it.
TABLE10: Mapping[str, float] = {"bp-fp32": 67.4, "tinytrain": 67.1, "mcutrain": 66.7, "pmt": 66.1}
TABLE11: Mapping[str, float] = {"bp-fp32": 86.71, "cls-only": 83.20, "mcutrain": 86.68, "pmt": 86.16}
TABLE11_KB: Mapping[str, int] = {"bp-fp32": 3650, "cls-only": 191, "mcutrain": 268, "pmt": 240}

TITLES: Mapping[str, str] = {
    "none": "no adaptation",
    **{f"block{block}": f"block {block}" for block in (1, 2, 3, 4)},
    "adaptive": "block chosen for the task",
    "pmt": "Poor Man's Training",
    "mezo": "MeZO, directions by sample",
    "mezo-batch": "MeZO, one direction a batch",
    "deepzero-0": "DeepZero-0",
    "deepzero-0.9": "DeepZero-0.9",
    "cls-only": "last layer only (BP, INT8, QAS)",
    "pmt-all": "Poor Man's Training, all pointwise layers",
    "bp-fp32": "BP, FP32, all layers",
    "bp-int8": "BP, INT8, all layers",
    "bp-int8-qas": "BP, INT8, QAS, all layers",
    "mcutrain": "MCUTrain (BP, INT8, QAS, fixed layers)",
    "tinytrain": "TinyTrain (BP, INT8, QAS, layers chosen on the device)",
    "gns+qas": "GNS and QAS",
    "qas": "QAS only",
    "gns": "GNS only",
    "neither": "neither",
    "layer-weight": "weights, layer-wise",
    "layer-node": "nodes, layer-wise",
    "layer-adaptive": "adaptive, layer-wise",
    "model-weight": "weights, model-wise",
    "model-node": "nodes, model-wise",
}
