#include "graph/engine.h"

#include <string.h>

#include "arith/xxh32.h"
#include "graph/forward.h"
#include "graph/slots.h"
#include "kernels/losses.h"
#include "methods/graph_gradient.h"
#include "net/stages.h"

#define PAINT 0xA5C3965Au

void graph_engine_init(graph_engine_t *engine, uint8_t *arena, uint32_t arena_size, uint32_t (*cycles)(void)) {
    *engine = (graph_engine_t){.arena_size = arena_size, .model = {.arena = arena, .watch = {.cycles = cycles}}};
}

/* Forget the file before, and its settings. */
static failure_t use(graph_engine_t *engine, const uint8_t *bytes, uint32_t size) {
    graph_model_t *model = &engine->model;
    graph_file_t file;
    const failure_t failure = graph_file_open_as(&file, bytes, size, FORMAT_TFLITE8);
    graph_engine_init(engine, model->arena, engine->arena_size, model->watch.cycles);
    if (failure.code == 0) {
        model->file = file;
        model->in_ram = bytes == model->arena;
    }
    return failure;
}

failure_t graph_engine_use_arena(graph_engine_t *engine, uint32_t size) {
    return use(engine, engine->model.arena, size);
}

failure_t graph_engine_use_flash(graph_engine_t *engine, const uint8_t *file, uint32_t size) {
    return use(engine, file, size);
}

/* Paint whole words behind what stays, for graph_engine_arena_peak(). */
static void paint_arena(graph_engine_t *engine) {
    const uint32_t word = PAINT;
    for (uint32_t at = engine->model.plan.kept; at + sizeof word <= engine->arena_size; at += (uint32_t)sizeof word) {
        memcpy(engine->model.arena + at, &word, sizeof word);
    }
}

/* With a file in flash: what is trained now, where it is not what was trained before. */
static void copy_trained(graph_engine_t *engine) {
    const graph_training_t *now = &engine->model.training, *before = &engine->copied;
    const bool same = now->layers == before->layers && now->weights == before->weights && now->biases == before->biases;
    if (!engine->model.in_ram && !same) {
        graph_copy_trained(&engine->model);
        engine->copied = *now;
    }
}

failure_t graph_engine_configure(graph_engine_t *engine, const graph_settings_t *settings, uint32_t *planned) {
    graph_model_t *model = &engine->model;
    if (model->file.bytes == NULL) {
        return refusal(FAILURE_NO_NETWORK, 0, 0);
    }
    const failure_t failure = graph_settings_check(settings, &model->file);
    if (failure.code != 0) {
        return failure;
    }
    engine->configured = false; /* until there is a plan that fits */
    model->settings = *settings;
    model->training = graph_training(settings, &model->file);
    const planned_t wanted = graph_planned(model);
    *planned = graph_plan(&model->plan, &wanted);
    if (*planned > engine->arena_size) {
        return refusal(FAILURE_DOES_NOT_FIT, *planned, engine->arena_size);
    }
    engine->under_way = (graph_step_t){.step = settings->first_step};
    engine->configured = true;
    engine->limited = false;
    copy_trained(engine);
    paint_arena(engine);
    graph_clear_velocities(model);
    graph_slots_empty(engine);
    return no_failure();
}

failure_t graph_engine_check_configured(const graph_engine_t *engine) {
    if (engine->model.file.bytes == NULL) {
        return refusal(FAILURE_NO_NETWORK, 0, 0);
    }
    return engine->configured ? no_failure() : refusal(FAILURE_NOT_CONFIGURED, 0, 0);
}

static failure_t check_whole(const graph_engine_t *engine) {
    const failure_t failure = graph_engine_check_configured(engine);
    if (failure.code == 0 && engine->under_way.through > 0) {
        return refusal(FAILURE_PARTS_MISSING, engine->under_way.through, engine->model.settings.batch);
    }
    return failure;
}

failure_t graph_engine_check_at_rest(const graph_engine_t *engine, uint16_t count) {
    const failure_t failure = check_whole(engine);
    return failure.code == 0 ? graph_slots_check(engine, count) : failure;
}

/* The logits of the sample in a slot. */
static const int8_t *forward(graph_model_t *model, uint16_t slot) {
    const pass_t pass = {.sample = graph_sample(model, slot)};
    graph_run_all(model, &pass);
    return graph_value(model, &pass, model->file.layers);
}

failure_t graph_engine_infer(graph_engine_t *engine, uint16_t count, infer_result_t *result) {
    graph_model_t *model = &engine->model;
    const failure_t failure = graph_engine_check_at_rest(engine, count);
    if (failure.code != 0) {
        return failure;
    }
    const uint32_t classes = graph_header(&model->file)->classes;
    const uint16_t nothing = 0; /* in the place of the exponent of bfp8 */
    xxh32_t digest;
    xxh32_begin(&digest, 0);
    result->correct = 0;
    for (uint16_t slot = 0; slot < count; slot++) {
        const int8_t *logits = forward(model, slot);
        const uint32_t predicted = argmax_s8(logits, classes);
        xxh32_update(&digest, logits, classes);
        xxh32_update(&digest, &nothing, sizeof nothing);
        result->predictions[slot] = (uint8_t)predicted;
        result->correct = (uint16_t)(result->correct + (predicted == graph_labels(model)[slot]));
    }
    result->logits_digest = xxh32_end(&digest);
    graph_slots_empty(engine);
    return no_failure();
}

failure_t graph_engine_trace(graph_engine_t *engine, uint16_t slot, uint16_t stage, uint32_t offset, uint8_t *out,
                             uint32_t *length) {
    graph_model_t *model = &engine->model;
    const failure_t failure = check_whole(engine);
    if (failure.code != 0) {
        return failure;
    }
    if (slot >= model->settings.slots) {
        return refusal(FAILURE_BAD_SLOT, slot, model->settings.slots);
    }
    if (!graph_slot_holds(engine, slot)) {
        return refusal(FAILURE_SLOTS_EMPTY, 0, slot);
    }
    stages_t stages = {.wanted = stage, .offset = offset, .out = out, .room = *length};
    const observer_t observer = {.see = stages_see, .context = &stages};
    model->observer = &observer;
    (void)forward(model, slot);
    model->observer = NULL;
    *length = stages.length;
    if (graph_consumes(&model->settings)) {
        graph_slot_empty(engine, slot);
    }
    return no_failure();
}

uint8_t graph_engine_tensors(const graph_engine_t *engine) {
    const graph_model_t *model = &engine->model;
    uint8_t layers = 0;
    if (engine->configured) {
        return graph_tensor_count(model);
    }
    for (uint8_t l = 0; l < model->file.layers; l++) {
        layers = (uint8_t)(layers + graph_has_weights(graph_layer(&model->file, l)));
    }
    return (uint8_t)(2 * layers);
}

failure_t graph_engine_digests(const graph_engine_t *engine, uint32_t *digests) {
    const failure_t failure = graph_engine_check_configured(engine);
    const uint8_t tensors = failure.code == 0 ? graph_tensor_count(&engine->model) : 0;
    for (uint8_t i = 0; i < tensors; i++) {
        const trained_tensor_t tensor = graph_tensor(&engine->model, i);
        digests[i] = xxh32(tensor.bytes, tensor.size, 0);
    }
    return failure;
}

/* Whether a trained tensor has these bytes. */
static failure_t check_bytes(const graph_engine_t *engine, uint8_t tensor, uint32_t offset, uint32_t length) {
    if (tensor >= graph_tensor_count(&engine->model)) {
        return refusal(FAILURE_BAD_TENSOR, tensor, offset);
    }
    const uint32_t size = graph_tensor(&engine->model, tensor).size;
    const bool inside = offset <= size && length <= size - offset;
    return inside ? no_failure() : refusal(FAILURE_BAD_TENSOR, tensor, offset);
}

failure_t graph_engine_read_tensor(const graph_engine_t *engine, uint8_t tensor, uint32_t offset, uint32_t length,
                                   uint8_t *out) {
    failure_t failure = graph_engine_check_configured(engine);
    if (failure.code == 0) {
        failure = check_bytes(engine, tensor, offset, length);
    }
    if (failure.code == 0) {
        memcpy(out, graph_tensor(&engine->model, tensor).bytes + offset, length);
    }
    return failure;
}

failure_t graph_engine_write_tensor(graph_engine_t *engine, uint8_t tensor, uint32_t offset, uint32_t length,
                                    const uint8_t *data) {
    failure_t failure = check_whole(engine);
    if (failure.code == 0) {
        failure = check_bytes(engine, tensor, offset, length);
    }
    if (failure.code != 0) {
        return failure;
    }
    const trained_tensor_t to = graph_tensor(&engine->model, tensor);
    for (uint32_t i = 0; to.weights && i < length; i++) {
        if ((int8_t)data[i] == INT8_MIN) {
            return refusal(FAILURE_BAD_TENSOR, tensor, offset + i);
        }
    }
    memcpy(to.bytes + offset, data, length);
    engine->limited = false;
    if (to.weights) {
        graph_sum_weights(&engine->model, to.layer);
    }
    return no_failure();
}

uint32_t graph_engine_arena_peak(const graph_engine_t *engine) {
    const uint32_t pattern = PAINT;
    const uint8_t *paint = (const uint8_t *)&pattern;
    const graph_model_t *model = &engine->model;
    const uint32_t file = model->in_ram ? model->file.size : 0;
    if (!engine->configured) {
        return file;
    }
    const uint32_t kept = model->plan.kept;
    uint32_t end = engine->arena_size / 4 * 4;
    while (end > kept && model->arena[end - 1] == paint[(end - 1) % 4]) {
        end--;
    }
    return end > kept || !model->in_ram ? end : file;
}
