"""Sentences on what differs from the paper of FQT in each of its experiments."""

from __future__ import annotations

from hil.training.experiments.fqt_published import (
    BARS,
    BATCH,
    CIFAR10,
    EPOCHS,
    MCUNET_EPOCHS,
    RATE,
    SPEEDUP,
    TABLE4,
    TABLE4_COLUMNS,
    TITLES,
)

MBEDNET = (
    "`mbednet` has layers of our own choice, because the paper's list is not public; it is not pruned, and its vision "
    "form is pre-trained on Fashion-MNIST in the place of ImageNet."
)
FIGURE_4 = (
    BARS,
    CIFAR10,
    MBEDNET,
    "`vibration` (SYNTHETIC) stands in for CWRU, `watch` for DaLiAc, sets of 28 x 28 images for CIFAR-10 and Animals, "
    "`emnist-letters` (26 classes) for CIFAR-100, Flowers and Speech (docs/networks.md).",
    "The baseline is the network before the last five layers were reset, in float32, where it was trained on the data "
    "set itself; the other columns are a change of the data set.",
)
FIGURE_6 = (
    BARS,
    MBEDNET,
    "lambda_max is 1, and the head keeps all its channels; the paper says neither (docs/arithmetic-fqt.md, section 4).",
    f"The paper's backward pass is {SPEEDUP} times faster at lambda_min 0.1 in mixed, the mean over seven data sets; "
    "costs.md of figure 6 has ours in cycles.",
    "Backward products are multiply-accumulates of the backward pass of a sample, counted by the reference over the "
    "whole training. Ranking, gradients in floats and updates have none.",
)
FIGURE_7 = (
    BARS,
    "`fqt-cnn` has sizes of our own choice, because the paper gives none. Its weights are drawn; the paper begins with "
    "a network that was trained on MNIST.",
)
TABLE_4 = (
    "The paper's accuracies are of data sets that are not here (percent, the last is the mean of the eight): "
    + "; ".join(
        f"{TITLES.get(row, 'FQT, uint8')} " + ", ".join(f"{name} {values[name]:g}" for name in TABLE4_COLUMNS)
        for row, values in TABLE4.items()
    )
    + ". The mean that it prints of SGD-M in int8, 64.9, is not that of its row, 66.4.",
    "SGD-M and MCUTrain train the same two blocks and the head in tflite8, with momentum 0.9.",
    "The last two blocks are in affine8, with one scale a tensor; the blocks before them are as published.",
)


def common(
    seeds: int, epochs: int, batch: int, images: int, rates: tuple[float, ...] | None, searched: bool
) -> tuple[str, ...]:
    """Return the differences that follow from a request."""
    sentences = [f"At most {images:,} training samples of each set."]
    if epochs not in (EPOCHS, MCUNET_EPOCHS):
        sentences.append(f"{epochs} epochs; the paper has {EPOCHS}, and {MCUNET_EPOCHS} in table IV.")
    if batch != BATCH:
        sentences.append(f"A batch of {batch} in the place of {BATCH}.")
    if seeds != 5:
        sentences.append(f"{seeds} seed{'s' if seeds > 1 else ''} in the place of five runs.")
    if searched:
        begins = "" if rates is None else f" begins with {', '.join(f'{rate:g}' for rate in rates)} and"
        sentences.append(
            f"The paper has a rate of {RATE:g}. Here it is searched row by row on the last fifth of the training "
            f"samples, which the search does not train on, by a grid that{begins} grows until its best rate is inside."
        )
    else:
        sentences.append("A single rate, which was not searched for.")
    return tuple(sentences)
