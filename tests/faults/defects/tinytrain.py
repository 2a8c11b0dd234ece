"""Mistakes in TinyTrain: what ranks layers and channels, what is chosen, and what is trained of it."""

from __future__ import annotations

from functools import partial

from .row import TINYTRAIN, Row, change, row

TRAINED = (r"(conv|dw|pw|fc)\d+(\.bias)?",)


_row = partial(row, TINYTRAIN, names=TRAINED, what="weight")

TINYTRAIN_ROWS = (
    _row("zero point: the information of a channel forgets that of its output", "tinytrain, all the work", "kernels/gradients.c", "sum += (*out - zero) * *error;", "sum += *out * *error;"),
    _row("scale: the potential of a layer has its factor once, not squared", "tinytrain, layers of near scores", "methods/tinytrain_choice.c", "square = c * c;", "square = c;"),
    _row("stale buffer: only the last sample ranks", "tinytrain, six samples", "kernels/gradients.c", "fisher[o] = fisher[o] + square;", "fisher[o] = square;"),
    _row("count: channels as good as the last one that is kept are left out", "tinytrain, all the work", "methods/tinytrain_choice.c", "count_from(fisher, channels, least + 1), listed", "count_from(fisher, channels, least), listed"),
    _row("ties: of equal channels the last ones are kept", "tinytrain, all the work", "methods/tinytrain_choice.c", "const bool tie = word == least && ties > 0;", "const bool tie = word == least && count_from(fisher + 4 * o, channels - o, least) - count_from(fisher + 4 * o, channels - o, least + 1) <= ties;"),
    _row("ties: of equal layers the first one is taken", "tinytrain, nothing to rank", "methods/tinytrain_choice.c", "scores[l] >= scores[best]", "scores[l] > scores[best]"),
    _row("budget: a layer is taken that goes beyond the memory", "tinytrain, little memory", "methods/tinytrain_choice.c", "if (grown <= costs.settings->memory_budget", "if (bytes <= costs.settings->memory_budget"),
    _row("budget: a layer that does not fit ends the choice", "tinytrain, little memory", "methods/tinytrain_choice.c", "left &= ~layer;", "left &= (chosen & layer) == 0 ? 0 : ~layer;"),
    _row("budget: the errors of layers that are not chosen cost nothing", "tinytrain", "methods/tinytrain_costs.c", "uint64_t work = error_products(costs, first_of_set(set));", "uint64_t work = 0;"),
    _row("index: the list of kept channels is one off", "tinytrain, all the work", "methods/tinytrain_choice.c", "const uint16_t channel = (uint16_t)o;", "const uint16_t channel = (uint16_t)(o + 1 < channels ? o + 1 : o);"),
    _row("index: errors of further kept channels are those of the first", "tinytrain, all the work", "methods/error_gradient.c", "kept->list + first, taken,", "kept->list, taken,"),
    _row("index: the gradient of kept channels moves the first ones", "tinytrain, all the work", "methods/tflite8_gradient.c", "kept->list[(from + i) / each] * each", "(from + i) / each * each", gate=True),
    _row("index: layers that were not chosen learn", "tinytrain", "methods/tinytrain.c", "} else if (in_set(model->training.updated, l)) {", "} else {"),
    # Nothing that is trained differs, only the work of the step that trains.
    Row("work: errors go on below the first chosen layer", TINYTRAIN, change("methods/tinytrain_choice.c", "    model->training.first_backward = first_of_set(chosen);\n", ""), "tinytrain", ("macs", "layer_runs")),
)  # fmt: skip
