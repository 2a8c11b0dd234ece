"""Mistakes that the checks have not seen: written from the firmware and its documents alone, and fixed before their first run (docs/defects.md).

The comment over a row says what is different in its trial.
"""

from __future__ import annotations

from functools import partial

from .row import HELD_OUT_ARITHMETIC, HELD_OUT_MEASURING, Row, change, row

TRAINED, BIASES = (r"(conv|dw|pw|fc)\d+(\.bias)?",), (r"\w+\.bias",)
PHASES = ("cycles_perturb", "cycles_forward", "cycles_backward", "cycles_update", "cycles_digest", "cycles_total")


def _measuring(name: str, trial: str, file: str, old: str, new: str, names: tuple[str, ...]) -> Row:
    return Row(name, HELD_OUT_MEASURING, change(file, old, new), trial, names)


_arithmetic = partial(row, HELD_OUT_ARITHMETIC)

HELD_OUT_ROWS = (
    # measuring and reporting
    # The run follows a step: its first lap, its sums and its profile have that step's cycles too.
    _measuring("account of the step before is not cleared when a run begins", "figures", "engine/train.c", "    begin_account(&engine->model);\n    engine->lap_count = 0;", "    engine->lap_count = 0;", (*PHASES, "laps", "profile")),
    # Backward has the gradients of two layers, update moves the weights of all five: each lap has one in the other's place.
    _measuring("backward and update of a lap are swapped", "figures", "engine/train.c", ".update = account->update};\n    for (uint8_t l = 0; l < engine->model.file.layers; l++) {\n        lap.forward += account->forward[l];\n        lap.backward +=", ".backward = account->update};\n    for (uint8_t l = 0; l < engine->model.file.layers; l++) {\n        lap.forward += account->forward[l];\n        lap.update +=", ("laps",)),
    # 107,550 bytes are hashed after the booking: digest is the cost of a booking alone, and the total lacks the rest.
    _measuring("the digest is booked before it is taken", "figures", "engine/train.c", "    (void)engine_digests(engine, digests); /* there are settings */\n    stopwatch_book(&model->watch, &model->account.digest);\n", "    stopwatch_book(&model->watch, &model->account.digest);\n    (void)engine_digests(engine, digests); /* there are settings */\n", ("cycles_digest", "cycles_total")),
    # The plus pass has two samples, so its stretch of forward goes on once: that of the first sample is lost.
    _measuring("a stretch that goes on keeps its last group only", "energy", "engine/stretches.h", "extends ? stretches->stretch[place] + cycles : (uint64_t)phase << STRETCH_PHASE_BIT | cycles;", "(uint64_t)phase << STRETCH_PHASE_BIT | cycles;", ("stretches",)),
    # Each pass of three samples comes in two parts: the first layer of the second part is booked with the sample's time on the link.
    _measuring("the counter is started once a pass, not once a part", "figures of parts", "engine/train.c", "    stopwatch_start(&model->watch);\n    if (step->through == 0 || pass != step->pass) {\n", "    if (step->through == 0 || pass != step->pass) {\n        stopwatch_start(&model->watch);\n", ("cycles_forward", "cycles_total")),
    # The update of three samples' sums is over when the counter is started: next to nothing is booked.
    _measuring("the update of summed gradients is counted from its end", "adaptive, three samples", "methods/tflite8_step.c", "    stopwatch_start(&model->watch);\n    if (model->settings.batch > 1) {\n        gradient_update_summed(model, step->through);\n", "    if (model->settings.batch > 1) {\n        gradient_update_summed(model, step->through);\n        stopwatch_start(&model->watch);\n", ("cycles_update", "cycles_total")),
    # From the second step on the number has the bookings of the steps before.
    _measuring("bookings are not set to 0 between two steps", "figures of a graph", "engine/train.c", "    model->macs = model->layer_runs = 0;\n    model->watch.bookings = 0;\n", "    model->macs = model->layer_runs = 0;\n", ("bookings",)),
    # Every layer with weights that an error passes has several taps an output, so more products than outputs.
    _measuring("work of the input error is counted in outputs", "figures of int8-bp", "methods/tflite8_backward.c", "    model->macs += graph_products(layer);\n", "    model->macs += graph_outputs(layer);\n", ("macs",)),
    # Only the trained layers of block 2 have a backward: with the forward of all layers in its place, the profile does not sum to its phase.
    _measuring("the profile has forward in the place of backward", "figures of a graph", "trainer/requests.c", "memcpy(reply->body + size, account->backward, size);", "memcpy(reply->body + size, account->forward, size);", ("profile",)),
    # What is planned of the arena is less than what there is of it: each is reported as the other.
    _measuring("plan and size of the arena are swapped", "figures", "trainer/network_requests.c", ".arena_planned = planned,\n                                          .arena_size = engine->arena_size + engine->kept.in_ram,", ".arena_planned = engine->arena_size, .arena_size = planned,", ("arena_planned", "arena_size")),
    # Bytes are asked for: a quarter of them is reported.
    _measuring("the size of the stack is reported in words", "figures", "agent/agent.c", ".stack_size = stack.size,", ".stack_size = stack.size / (uint32_t)sizeof(uint32_t),", ("stack_size",)),
    # 64 MHz is the nRF52840's clock, this core's is higher: 100 ms of sleep end after a fraction of it.
    _measuring("the sleep counts milliseconds of another board's clock", "energy", "ports/sleep/sleep.c", "SYST_RVR = port_clock_hz() / 1000u - 1u;", "SYST_RVR = 64000000u / 1000u - 1u;", ("sleep",)),
    # arithmetic of bfp8
    # conv1 has 150 weights, 24 * 6 + 6: the second group of that rest takes the z of the first, in each of 6 steps.
    _arithmetic("odd size: the last weights draw from a word's first field again", "full-zo", "kernels/move_s8.c", "noise_field(state, j), &both", "noise_field(state, 0), &both", ("conv1",), "weight"),
    # A third of all z are 64 or more in size: twice that wraps around in a byte. With r_max of 63 or less none does.
    _arithmetic("overflow: two of the largest moves are made one", "cls1 with the largest noise", "kernels/move_s8.c", "k != 1 && 2 * noise.r_max > 127 ? TWICE : ONCE", "k != 1 && noise.r_max > 127 ? TWICE : ONCE", ("conv1", "conv2", "fc1"), "weight"),
    # Of eight samples all logits are kept at the first one's place; the seven others are compared with what lies in the arena.
    _arithmetic("index: logits are kept at their place in the group, not in the batch", "cls1 of integers", "methods/elasticzo_int8.c", "keep_logits(model, sample, member);", "keep_logits(model, member, member);", ("loss", "conv1", "conv2", "fc1"), ""),
    # Negative sums with dropped bits are one lower, wherever a sample is shifted; their low bits round the update of 2,550 weights.
    _arithmetic("rounding: a sample's gradient is shifted towards minus infinity", "full-bp", "kernels/conv2d_s8_weight_gradient.c", "add_saturating(gradient[i], trunc_shift(sum[i], shift))", "add_saturating(gradient[i], sum[i] >> shift)", ("conv1", "conv2"), "weight"),
    # Of four samples the first one's errors are made 8 bits; fc2 learns from what the buffer held for the others.
    _arithmetic("index: of a group's errors those of its first sample are requantized", "cls1 in scope batch", "formats/bfp8_backward.c", "requantize_s8(acc, error->count * inputs, error->values)", "requantize_s8(acc, inputs, error->values)", ("fc2", "fc3"), ""),
    # arithmetic of tflite8
    # The two values have scales and zero points of their own.
    _arithmetic("order: the two values of an add are swapped, their factors are not", "adaptive", "formats/tflite8.c", "run_add(model, layer, in, pass_value(model, pass, layer->reads[1]), out)", "run_add(model, layer, pass_value(model, pass, layer->reads[1]), in, out)", (r"add\d",), "output"),
    # conv1, trained by weights, has 144 of them: 16 draws of the last word are its, and its 16 biases learn by these once more.
    _arithmetic("seed: draws are not passed over after a half word", "adaptive", "kernels/zeroth_order_gradients.c", "queries[q].signs = rademacher_skip(group.signs[q], n);", "queries[q].signs = group.signs[q];", BIASES, "weight"),
    # Every channel has a weight at 126 or -126; a step of this rate takes half of them beyond, where they must end at 126.
    _arithmetic("saturation: an updated weight ends at 127 in the place of 126", "mezo, weights at their limit", "kernels/updates.c", "after = clip(before - step, WEIGHT_LIMIT);", "after = clip127(before - step);", TRAINED, "weight"),
    # A bias was moved by m_o = 2^-shift steps: its update is m_o times too large.
    _arithmetic("unit: the step of a bias counts for nodes, not for weights", "bias-only", "kernels/updates.c", "update->nodes ? 0 : bias_step_exponent(update->shift[o])", "update->nodes ? bias_step_exponent(update->shift[o]) : 0", BIASES, "weight"),
    # The mask of fc1 is drawn by the number of its layer as a query of layer 0: another state, other coordinates.
    _arithmetic("seed: layer and query are swapped in the mask", "deepzero", "methods/deepzero.c", "rademacher_state(tflite8_settings(model)->seed, step->step, 0, l, 0)", "rademacher_state(tflite8_settings(model)->seed, step->step, 0, 0, l)", (r"fc\d(\.bias)?", "loss"), ""),
    # Inputs of depthwise layers have the zero point -128: all channels but the first take the errors of those before into their offset.
    _arithmetic("stale sum: errors of a channel are added to those of the channels before", "int8-bp", "kernels/depthwise_planes_s8.c", "        int32_t sum = -errors->zero * (int32_t)positions;\n", "        static int32_t sum;\n        sum -= errors->zero * (int32_t)positions;\n", (r"dw\d+",), "weight"),
    # Biases follow velocities of weights, which are not 0 any more, and in the second step these weights follow the biases'.
    _arithmetic("index: velocities of biases lie over those of weights", "mcutrain", "methods/tflite8_gradient.c", "kept->velocity + first + i", "kept->velocity + first + i - (biases ? kept->weights - kept->biases : 0)", (r"pw\d+(\.bias)?",), "weight"),
)  # fmt: skip
