"""Published test accuracies of QZO-FF in percent ("Stepping Forward on the Last Mile", tables 2 and 5), and titles."""

from __future__ import annotations

from collections.abc import Mapping

# Table 2, Omniglot with ProtoNets, 5 classes, 5 shots: in the place of each network of ours the paper's of its kind.
FEW_SHOT_ROWS = ("none", "bp-full", "bp-probe", "ff-full", "ff-probe", "ff-probe-16w8a")
OMNIGLOT: Mapping[str, Mapping[str, float]] = {
    backbone: dict(zip(FEW_SHOT_ROWS, values, strict=True))
    for backbone, values in {
        "lenet5-tflite": (92.00, 99.62, 98.64, 97.44, 96.62, 96.08),  # Resnet12
        "resnet-tiny": (86.68, 98.54, 96.48, 94.70, 95.56, 95.86),  # Resnet18
    }.items()
}

# Table 5, ViT tiny on CIFAR-10-C, by trained layers.
SEVERITIES = {"easy": 1, "medium": 3, "hard": 5}
CORRUPTED: Mapping[int, Mapping[str, Mapping[str, float]]] = {
    layers: {row: dict(zip(SEVERITIES, values, strict=True)) for row, values in rows.items()}
    for layers, rows in {
        1: {
            "none": (82.48, 74.59, 62.40),
            "bp": (83.75, 77.88, 70.03),
            "ff": (83.37, 77.04, 68.65),
            "ff-sparse": (83.34, 77.11, 68.63),
            "ff-16w8a": (83.23, 76.73, 68.28),
        },
        3: {
            "none": (85.83, 77.77, 62.25),
            "bp": (86.99, 81.57, 74.76),
            "ff": (86.11, 79.17, 67.78),
            "ff-sparse": (86.10, 79.24, 68.06),
            "ff-16w8a": (85.77, 78.67, 67.25),
        },
    }.items()
}

TITLES: Mapping[str, str] = {
    "none": "no training",
    "bp-full": "BP, all layers",
    "bp-last3": "BP, last 3 layers",
    "bp-probe": "BP, linear probe",
    "ff-full": "FF, all layers",
    "ff-last3": "FF, last 3 layers",
    "ff-probe": "FF, linear probe",
    "ff-full-16w8a": "FF, all layers, 16w8a",
    "ff-last3-16w8a": "FF, last 3 layers, 16w8a",
    "ff-probe-16w8a": "FF, linear probe, 16w8a",
    "protonet": "ProtoNets",
    "simpleshot": "SimpleShot",
    "bp": "BP",
    "ff": "FF",
    "ff-sparse": "FF, sparse",
    "ff-16w8a": "FF, 16w8a",
    "probe": "linear probe",
    "ff-m1": "FF, m = 1",
    "ff-m10": "FF, m = 10",
    "16w8a": "FF, 16w8a, m = 3",
    "16w8a-m1": "FF, 16w8a, m = 1",
    "16w8a-m10": "FF, 16w8a, m = 10",
    "16w8a-paper-epsilon": "FF, 16w8a, m = 3, epsilon 0.001",
    "8w8a": "FF, 8w8a, epsilon 0.001",
    "8w8a-large-epsilon": "FF, 8w8a, epsilon 0.01",
    "binomial": "FF, 16w8a, binomial",
    "sharpness": "FF, 16w8a, sharpness-aware",
    "normalised": "FF, 16w8a, kernel-wise normalised",
    "both": "FF, 16w8a, sharpness-aware and normalised",
}
