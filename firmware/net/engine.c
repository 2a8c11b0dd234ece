#include "net/engine.h"

#include <stddef.h>
#include <string.h>

#include "arith/xxh32.h"
#include "kernels/losses.h"
#include "methods/elasticzo_int8.h"
#include "net/forward.h"
#include "net/slots.h"
#include "net/trace.h"

#define PAINT 0xA5C3965Au

enum { LARGEST_EXACT = 63 }; /* docs/arithmetic.md, section 8: largest r_max of the exact form */

void engine_init(engine_t *engine, uint8_t *arena, uint32_t arena_size, uint32_t (*cycles)(void)) {
    *engine = (engine_t){
        .arena_size = arena_size,
        .model = {.arena = arena, .watch = {.cycles = cycles}},
    };
}

void engine_reset(engine_t *engine) {
    engine_init(engine, engine->model.arena, engine->arena_size, engine->model.watch.cycles);
}

failure_t engine_load_begin(engine_t *engine, uint32_t total) {
    engine_reset(engine);
    if (total > engine->arena_size) {
        return refusal(FAILURE_DOES_NOT_FIT, total, engine->arena_size);
    }
    engine->total = total;
    return no_failure();
}

failure_t engine_load_data(engine_t *engine, uint32_t offset, const uint8_t *data, uint32_t n) {
    if (engine->total == 0 || engine->loaded) {
        return refusal(FAILURE_NO_NETWORK, 0, 0);
    }
    if (offset != engine->received) {
        return refusal(FAILURE_OUT_OF_ORDER, offset, engine->received);
    }
    if (n > engine->total - engine->received) {
        return refusal(FAILURE_BAD_LENGTH, n, engine->total - engine->received);
    }
    memcpy(engine->model.arena + offset, data, n);
    engine->received += n;
    return no_failure();
}

failure_t engine_load_end(engine_t *engine) {
    if (engine->total == 0 || engine->loaded) {
        return refusal(FAILURE_NO_NETWORK, 0, 0);
    }
    if (engine->received < engine->total) {
        return refusal(FAILURE_NETWORK_TRUNCATED, engine->received, engine->total);
    }
    const failure_t failure =
        graph_file_open_as(&engine->model.file, engine->model.arena, engine->received, FORMAT_BFP8);
    engine->loaded = failure.code == 0;
    return failure;
}

/* Index of the first field of the request `configure` that is out of range, and its value. Where two fields do not go together, the
   later one is to blame. */
static bool find_bad_setting(const settings_t *settings, const graph_file_t *file, failure_t *failure) {
    const uint32_t fewest_slots = settings->scope == SCOPE_BATCH ? settings->batch : 1;
    const struct {
        uint32_t value, least, most;
    } fields[] = {
        {settings->partition, 0, graph_weighted(file)},
        {settings->b_zo, 1, 7},
        {settings->b_bp, 1, 7},
        {settings->p_zero, 0, 255},
        {settings->r_max, 1, 127},
        {settings->loss, LOSS_FLOAT, LOSS_INTEGER},
        {settings->scope, SCOPE_SAMPLE, SCOPE_BATCH},
        {settings->perturb, PERTURB_CLAMPED, settings->r_max <= LARGEST_EXACT ? PERTURB_EXACT : PERTURB_CLAMPED},
        {settings->logit_error, LOGIT_ERROR_NITI, LOGIT_ERROR_ZERO_SUM},
        {settings->loss_fraction, 0, settings->loss == LOSS_INTEGER ? INTEGER_LOSS_MOST_FRACTION : 0},
        {settings->batch, 1, UINT16_MAX},
        {settings->seed, 0, UINT32_MAX},
        {settings->slots, fewest_slots, settings->batch},
    };
    for (uint32_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].value < fields[i].least || fields[i].value > fields[i].most) {
            *failure = refusal(FAILURE_BAD_SETTING, i, fields[i].value);
            return true;
        }
    }
    return false;
}

/* Paint whole words behind the blob, for engine_arena_peak(). */
static void paint_arena(engine_t *engine) {
    const uint32_t word = PAINT;
    const uint32_t from = (engine->model.file.size + 3) / 4 * 4;
    for (uint32_t at = from; at + sizeof word <= engine->arena_size; at += (uint32_t)sizeof word) {
        memcpy(engine->model.arena + at, &word, sizeof word);
    }
}

failure_t engine_configure(engine_t *engine, const settings_t *settings, uint32_t *planned) {
    model_t *model = &engine->model;
    failure_t failure;
    if (!engine->loaded) {
        return refusal(FAILURE_NO_NETWORK, 0, 0);
    }
    if (find_bad_setting(settings, &model->file, &failure)) {
        return failure;
    }
    engine->configured = false; /* until there is a plan that fits */
    model->first_bp = graph_weighted_layer(&model->file, settings->partition);
    model->zero_sum = settings->logit_error == LOGIT_ERROR_ZERO_SUM;
    *planned = plan_make(&model->plan, &model->file, settings);
    if (*planned > engine->arena_size) {
        return refusal(FAILURE_DOES_NOT_FIT, *planned, engine->arena_size);
    }
    engine->settings = *settings;
    engine->under_way = (elasticzo_step_t){.step = settings->first_step};
    engine->configured = true;
    paint_arena(engine);
    slots_empty(engine);
    return no_failure();
}

failure_t engine_check_configured(const engine_t *engine) {
    if (!engine->loaded) {
        return refusal(FAILURE_NO_NETWORK, 0, 0);
    }
    return engine->configured ? no_failure() : refusal(FAILURE_NOT_CONFIGURED, 0, 0);
}

bool engine_has_begun(const engine_t *engine) {
    return engine->under_way.through > 0;
}

failure_t engine_check_at_rest(const engine_t *engine, uint16_t count) {
    failure_t failure = engine_check_configured(engine);
    if (failure.code == 0 && engine_has_begun(engine)) {
        failure = refusal(FAILURE_PARTS_MISSING, engine->under_way.through, engine->settings.batch);
    }
    return failure.code == 0 ? slots_check(engine, count) : failure;
}

/* Section 10 of docs/arithmetic.md: the logits, then their exponent as int16. */
static void digest_logits(const model_t *model, xxh32_t *digest) {
    const int16_t exponent = (int16_t)model_logits_exponent(model);
    xxh32_update(digest, model_logits(model, 0), model_classes(model));
    xxh32_update(digest, &exponent, sizeof exponent);
}

failure_t engine_infer(engine_t *engine, uint16_t count, infer_result_t *result) {
    model_t *model = &engine->model;
    const failure_t failure = engine_check_at_rest(engine, count);
    if (failure.code != 0) {
        return failure;
    }
    xxh32_t digest;
    xxh32_begin(&digest, 0);
    result->correct = 0;
    for (uint16_t slot = 0; slot < count; slot++) {
        forward(model, model_sample(model, slot), 1);
        digest_logits(model, &digest);
        const uint32_t predicted = argmax_s8(model_logits(model, 0), model_classes(model));
        result->predictions[slot] = (uint8_t)predicted;
        result->correct = (uint16_t)(result->correct + (predicted == model_labels(model)[slot]));
    }
    result->logits_digest = xxh32_end(&digest);
    slots_empty(engine);
    return no_failure();
}

failure_t engine_forward(engine_t *engine, uint16_t slot) {
    const failure_t failure = engine_check_at_rest(engine, (uint16_t)(slot + 1));
    if (failure.code == 0) {
        forward(&engine->model, model_sample(&engine->model, slot), 1);
    }
    return failure;
}

failure_t engine_trace(engine_t *engine, uint16_t slot, uint16_t stage, uint32_t offset, uint8_t *out,
                       uint32_t *length) {
    failure_t failure = engine_check_configured(engine);
    if (failure.code == 0 && engine_has_begun(engine)) {
        failure = refusal(FAILURE_PARTS_MISSING, engine->under_way.through, engine->settings.batch);
    }
    if (failure.code == 0 && slot >= engine->settings.slots) {
        failure = refusal(FAILURE_BAD_SLOT, slot, engine->settings.slots);
    }
    if (failure.code != 0) {
        return failure;
    }
    const uint16_t filled = slots_filled(engine);
    const bool grouped = engine->settings.scope == SCOPE_BATCH;
    if (grouped ? slot >= filled : !slots_hold(engine, slot)) {
        return refusal(FAILURE_SLOTS_EMPTY, filled, slot);
    }
    *length = trace(&engine->model, slot, grouped ? filled : 1, stage, offset, out, *length);
    return no_failure();
}

uint8_t engine_tensors(const engine_t *engine) {
    return engine->loaded ? graph_weighted(&engine->model.file) : 0;
}

uint8_t engine_layers(const engine_t *engine) {
    return engine->loaded ? engine->model.file.layers : 0;
}

uint32_t engine_network_digest(const engine_t *engine) {
    return engine->loaded ? graph_header(&engine->model.file)->digest : 0;
}

failure_t engine_digests(const engine_t *engine, uint32_t *digests) {
    if (!engine->loaded) {
        return refusal(FAILURE_NO_NETWORK, 0, 0);
    }
    for (uint8_t tensor = 0; tensor < engine_tensors(engine); tensor++) {
        const graph_layer_t *layer = model_tensor(&engine->model, tensor);
        digests[tensor] = xxh32(model_weights(&engine->model, layer), graph_weight_count(layer), 0);
    }
    return no_failure();
}

failure_t engine_read_tensor(const engine_t *engine, uint8_t tensor, uint32_t offset, uint32_t length, uint8_t *out) {
    if (!engine->loaded) {
        return refusal(FAILURE_NO_NETWORK, 0, 0);
    }
    if (tensor >= engine_tensors(engine)) {
        return refusal(FAILURE_BAD_TENSOR, tensor, offset);
    }
    const graph_layer_t *layer = model_tensor(&engine->model, tensor);
    if (offset > graph_weight_count(layer) || length > graph_weight_count(layer) - offset) {
        return refusal(FAILURE_BAD_TENSOR, tensor, offset);
    }
    memcpy(out, model_weights(&engine->model, layer) + offset, length);
    return no_failure();
}

uint32_t engine_arena_peak(const engine_t *engine) {
    const uint32_t pattern = PAINT;
    const uint8_t *paint = (const uint8_t *)&pattern;
    if (!engine->configured) {
        return engine->received;
    }
    const uint32_t blob = (engine->model.file.size + 3) / 4 * 4;
    uint32_t end = engine->arena_size / 4 * 4;
    while (end > blob && engine->model.arena[end - 1] == paint[(end - 1) % 4]) {
        end--;
    }
    return end > blob ? end : engine->model.file.size;
}
