#include "engine/engine.h"

#include <stddef.h>
#include <string.h>

#include "arith/xxh32.h"

#define PAINT 0xA5C3965Au

void engine_init(engine_t *engine, const format_t *const *formats, uint8_t *arena, uint32_t arena_size,
                 uint32_t (*cycles)(void)) {
    *engine = (engine_t){
        .formats = formats,
        .arena_size = arena_size,
        .model = {.arena = arena, .watch = {.cycles = cycles}},
    };
}

void engine_reset(engine_t *engine) {
    const kept_samples_t kept = engine->kept;
    engine_init(engine, engine->formats, engine->model.arena, engine->arena_size, engine->model.watch.cycles);
    engine->kept = kept;
}

failure_t engine_check_network(const engine_t *engine) {
    return engine->model.formats != NULL ? no_failure() : refusal(FAILURE_NO_NETWORK, 0, 0);
}

/* Bytes of arena with the samples in front of it; UINT32_MAX stays more than there are. */
static uint32_t with_kept(const engine_t *engine, uint32_t bytes) {
    const uint32_t in_ram = engine->kept.in_ram;
    return bytes < UINT32_MAX - in_ram ? bytes + in_ram : UINT32_MAX;
}

/* Whether a file is being loaded. */
static failure_t check_loading(const engine_t *engine) {
    const bool loading = engine->total > 0 && engine->model.formats == NULL;
    return loading ? no_failure() : refusal(FAILURE_NO_NETWORK, 0, 0);
}

failure_t engine_load_begin(engine_t *engine, uint32_t total) {
    engine_reset(engine);
    if (total > engine->arena_size) {
        return refusal(FAILURE_DOES_NOT_FIT, with_kept(engine, total), with_kept(engine, engine->arena_size));
    }
    engine->total = total;
    return no_failure();
}

failure_t engine_load_data(engine_t *engine, uint32_t offset, const uint8_t *data, uint32_t n) {
    RETURN_IF_REFUSED(check_loading(engine));
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

failure_t engine_keep_loaded(engine_t *engine, uint32_t bytes) {
    RETURN_IF_REFUSED(check_loading(engine));
    if (engine->received != bytes) {
        return refusal(FAILURE_BAD_LENGTH, engine->received, bytes);
    }
    const uint32_t rounded = (bytes + 7) / 8 * 8; /* as every buffer */
    const uint32_t taken = rounded < engine->arena_size ? rounded : engine->arena_size;
    engine_keep_flash(engine, engine->model.arena, bytes);
    engine->kept.in_ram += taken;
    engine->model.arena += taken;
    engine->arena_size -= taken;
    engine->total = engine->received = 0;
    return no_failure();
}

void engine_keep_flash(engine_t *engine, const uint8_t *samples, uint32_t bytes) {
    engine->kept.samples = samples;
    engine->kept.bytes = bytes;
}

/* Without settings: the weights and biases of all layers. */
static training_t all_of(const model_t *model) {
    return (training_t){
        .layers = graph_weighted_layers(&model->file), .weights = true, .biases = model_format(model, 0)->has_biases};
}

/* Whether the engine knows the format of a layer, and can use a file there. */
static bool can_use(const engine_t *engine, const graph_layer_t *layer, bool in_ram) {
    const format_t *const *format = engine->formats;
    while (*format != NULL && (*format)->number != layer->format) {
        format++;
    }
    return *format != NULL && (in_ram || (*format)->stays_in_flash);
}

/* Use a file that is in RAM, or in flash. */
static failure_t use(engine_t *engine, const uint8_t *bytes, uint32_t size, bool in_ram) {
    model_t *model = &engine->model;
    graph_file_t file;
    RETURN_IF_REFUSED(graph_file_open(&file, bytes, size));
    for (uint8_t l = 0; l < file.layers; l++) {
        if (!can_use(engine, graph_layer(&file, l), in_ram)) {
            return graph_other_format(l);
        }
    }
    model->file = file;
    model->formats = engine->formats;
    model->in_ram = in_ram;
    model->exponent[0] = model_format(model, 0)->input_exponent;
    model->training = all_of(model);
    plan_clear(&model->plan);
    return no_failure();
}

failure_t engine_load_end(engine_t *engine) {
    RETURN_IF_REFUSED(check_loading(engine));
    if (engine->received < engine->total) {
        return refusal(FAILURE_NETWORK_TRUNCATED, engine->received, engine->total);
    }
    return use(engine, engine->model.arena, engine->received, true);
}

failure_t engine_use_flash(engine_t *engine, const uint8_t *file, uint32_t size) {
    engine_reset(engine);
    return use(engine, file, size, false);
}

/* Paint whole words after what stays, for engine_arena_peak(). */
static void paint_arena(engine_t *engine) {
    const uint32_t word = PAINT;
    for (uint32_t at = engine->model.plan.kept; at + sizeof word <= engine->arena_size; at += (uint32_t)sizeof word) {
        memcpy(engine->model.arena + at, &word, sizeof word);
    }
}

/* With a file in flash: copy what is trained now, unless the same was trained before. */
static void copy_trained(engine_t *engine) {
    const training_t *now = &engine->model.training, *before = &engine->copied;
    const bool same = now->layers == before->layers && now->weights == before->weights && now->biases == before->biases;
    if (!engine->model.in_ram && !same) {
        model_copy_trained(&engine->model);
        engine->copied = *now;
    }
}

static failure_t check_settings(const method_t *method, const settings_t *settings, const graph_file_t *file) {
    RETURN_IF_REFUSED(settings_check(method->settings, settings));
    const bool too_many = settings->slots > settings->batch;
    const uint8_t refused = too_many ? offsetof(settings_t, slots) : method->check(settings, file);
    return refused == METHOD_TAKES_ALL ? no_failure() : settings_refuse(method->settings, settings, refused);
}

static bool trains(const method_t *method, const format_t *format) {
    const bool more = (method->formats >> format->number & 1u) != 0;
    return more ||
           (method->format == 0 ? method->formats == 0 && format->chain != NULL : method->format == format->number);
}

/* Whether settings go on with the step that is next, as docs/link.md has it: requests of a trial. */
static bool follows_schedule(const engine_t *engine, const method_t *method, const settings_t *settings) {
    const model_t *model = &engine->model;
    const step_t *next = &engine->under_way;
    return model->method == method && !engine->written && next->through == 0 && settings->first_step == next->step &&
           settings_may_follow(method->settings, model->settings_bytes, settings);
}

/* Take settings that follow no schedule: the state of the method begins anew. */
static failure_t begin(engine_t *engine, const method_t *method, const void *settings) {
    model_t *model = &engine->model;
    memcpy(model->settings_bytes, settings, method->settings->size);
    model->method = method;
    model->training = method->training(&model->settings, &model->file);
    const uint32_t size = model_plan(model);
    if (size > engine->arena_size) {
        model->method = NULL;
        model->training = all_of(model);
        return refusal(FAILURE_DOES_NOT_FIT, with_kept(engine, size), with_kept(engine, engine->arena_size));
    }
    engine->under_way = (step_t){.step = model->settings.first_step};
    engine->written = false;
    copy_trained(engine);
    paint_arena(engine);
    if (method->begin != NULL) {
        method->begin(model);
    }
    return no_failure();
}

failure_t engine_configure(engine_t *engine, const method_t *method, const void *settings, uint32_t *planned) {
    model_t *model = &engine->model;
    failure_t failure = no_failure();
    RETURN_IF_REFUSED(engine_check_network(engine));
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (!trains(method, model_format(model, l)) || (method->in_ram && !model->in_ram)) {
            return graph_other_format(l);
        }
    }
    RETURN_IF_REFUSED(check_settings(method, settings, &model->file));
    if (follows_schedule(engine, method, settings)) {
        settings_follow(method->settings, model->settings_bytes, settings);
    } else {
        failure = begin(engine, method, settings);
    }
    *planned = with_kept(engine, model->plan.size);
    RETURN_IF_REFUSED(failure);
    model->limited = false; /* the limits may be others */
    slots_empty(engine);
    return no_failure();
}

failure_t engine_check_configured(const engine_t *engine) {
    RETURN_IF_REFUSED(engine_check_network(engine));
    return engine->model.method != NULL ? no_failure() : refusal(FAILURE_NOT_CONFIGURED, 0, 0);
}

failure_t engine_check_whole(const engine_t *engine) {
    RETURN_IF_REFUSED(engine_check_configured(engine));
    const uint16_t through = engine->under_way.through;
    return through == 0 ? no_failure() : refusal(FAILURE_PARTS_MISSING, through, engine->model.settings.batch);
}

failure_t engine_check_at_rest(const engine_t *engine, uint16_t count) {
    RETURN_IF_REFUSED(engine_check_whole(engine));
    return slots_check(engine, count);
}

static void forward(model_t *model, uint16_t slot) {
    const pass_t pass = {.sample = model_sample(model, slot), .count = 1};
    pass_run_all(model, &pass);
}

/* Little-endian, as this computer is; the place may be at any address. */
static void put_prediction(const model_t *model, uint16_t slot, uint32_t predicted, uint8_t *predictions) {
    const uint32_t bytes = model_prediction_bytes(model);
    memcpy(predictions + slot * bytes, &predicted, bytes);
}

failure_t engine_infer(engine_t *engine, uint16_t count, infer_result_t *result) {
    model_t *model = &engine->model;
    RETURN_IF_REFUSED(engine_check_at_rest(engine, count));
    const uint32_t classes = model_classes(model);
    xxh32_t digest;
    xxh32_begin(&digest, 0);
    result->correct = 0;
    for (uint16_t slot = 0; slot < count; slot++) {
        forward(model, slot);
        const int8_t *logits = model_logits(model, 0);
        const int16_t exponent = model_logits_exponent(model);
        const uint32_t predicted = model_format(model, (uint8_t)(model->file.layers - 1))->predicted(logits, classes);
        xxh32_update(&digest, logits, model_logits_bytes(model));
        xxh32_update(&digest, &exponent, sizeof exponent);
        put_prediction(model, slot, predicted, result->predictions);
        result->correct = (uint16_t)(result->correct + (predicted == slot_label(engine, slot)));
    }
    result->logits_digest = xxh32_end(&digest);
    slots_empty(engine);
    return no_failure();
}

failure_t engine_forward(engine_t *engine, uint16_t slot) {
    RETURN_IF_REFUSED(engine_check_at_rest(engine, (uint16_t)(slot + 1)));
    forward(&engine->model, slot);
    return no_failure();
}

/* A sample of a group is traced with all of its group. */
static failure_t check_trace(const engine_t *engine, uint16_t slot) {
    RETURN_IF_REFUSED(engine_check_whole(engine));
    if (slot >= engine->model.settings.slots) {
        return refusal(FAILURE_BAD_SLOT, slot, engine->model.settings.slots);
    }
    const uint16_t filled = slots_filled(engine);
    const bool there = engine->model.training.grouped ? slot < filled : slot_holds(engine, slot);
    return there ? no_failure() : refusal(FAILURE_SLOTS_EMPTY, filled, slot);
}

failure_t engine_trace(engine_t *engine, uint16_t slot, uint16_t stage, uint32_t offset, uint8_t *out,
                       uint32_t *length) {
    model_t *model = &engine->model;
    RETURN_IF_REFUSED(check_trace(engine, slot));
    const bool grouped = model->training.grouped;
    const uint16_t first = grouped ? 0 : slot;
    stages_t stages = {.wanted = stage, .offset = offset, .out = out, .room = *length};
    const observer_t observer = {
        .see = stages_see, .see_scaled = stages_see_scaled, .context = &stages, .member = (uint16_t)(slot - first)};
    model->observer = &observer;
    model->method->trace(model, first, grouped ? slots_filled(engine) : 1);
    model->observer = NULL;
    *length = stages.length;
    if (model->training.consumed) {
        slot_empty(engine, slot);
    }
    return no_failure();
}

/* Refuses where it is not known which tensors are trained. */
static failure_t check_tensors(const engine_t *engine) {
    const model_t *model = &engine->model;
    const bool known = model->formats != NULL && model_format(model, 0)->trains_all;
    return known ? no_failure() : engine_check_configured(engine);
}

failure_t engine_digests(const engine_t *engine, void *digests) {
    RETURN_IF_REFUSED(check_tensors(engine));
    const uint8_t tensors = model_tensors(&engine->model);
    for (uint8_t i = 0; i < tensors; i++) {
        const trained_tensor_t tensor = model_tensor(&engine->model, i);
        const uint32_t digest = xxh32(tensor.bytes, tensor.size, 0);
        memcpy((uint8_t *)digests + i * sizeof digest, &digest, sizeof digest);
    }
    return no_failure();
}

/* Whether a trained tensor has these bytes. */
static failure_t check_bytes(const engine_t *engine, uint8_t tensor, uint32_t offset, uint32_t length) {
    const bool there = tensor < model_tensors(&engine->model);
    const uint32_t size = there ? model_tensor(&engine->model, tensor).size : 0;
    const bool inside = there && offset <= size && length <= size - offset;
    return inside ? no_failure() : refusal(FAILURE_BAD_TENSOR, tensor, offset);
}

failure_t engine_read_tensor(const engine_t *engine, uint8_t tensor, uint32_t offset, uint32_t length, uint8_t *out) {
    RETURN_IF_REFUSED(check_tensors(engine));
    RETURN_IF_REFUSED(check_bytes(engine, tensor, offset, length));
    memcpy(out, model_tensor(&engine->model, tensor).bytes + offset, length);
    return no_failure();
}

/* The first byte that may not be written into a tensor; the end of what is written where all may. */
static uint32_t first_refused(const model_t *model, const written_t *written) {
    const trained_tensor_t *to = &written->tensor;
    const format_t *format = model_format(model, to->layer);
    const uint32_t offset = written->offset, end = offset + written->length;
    uint32_t bytes = model_value_bytes(model, to, offset);
    for (uint32_t at = offset / bytes * bytes; format->may_be != NULL && at < end; at += bytes) {
        if (!format->may_be(model, written, at)) {
            return at > offset ? at : offset;
        }
        bytes = model_value_bytes(model, to, at);
    }
    return end;
}

failure_t engine_write_tensor(engine_t *engine, uint8_t tensor, uint32_t offset, uint32_t length, const uint8_t *data) {
    RETURN_IF_REFUSED(engine_check_whole(engine));
    RETURN_IF_REFUSED(check_bytes(engine, tensor, offset, length));
    const written_t written = {
        .tensor = model_tensor(&engine->model, tensor), .offset = offset, .length = length, .data = data};
    const uint32_t refused = first_refused(&engine->model, &written);
    if (refused < offset + length) {
        return refusal(FAILURE_BAD_TENSOR, tensor, refused);
    }
    memcpy(written.tensor.bytes + offset, data, length);
    engine->model.limited = false;
    engine->written = true;
    model_rewritten(&engine->model, written.tensor.layer, written.tensor.kind);
    return no_failure();
}

static uint32_t peak_of_arena(const engine_t *engine) {
    const uint32_t pattern = PAINT;
    const uint8_t *paint = (const uint8_t *)&pattern;
    const model_t *model = &engine->model;
    if (model->method == NULL) {
        return engine->received;
    }
    const uint32_t kept = model->plan.kept;
    uint32_t end = engine->arena_size / 4 * 4;
    while (end > kept && model->arena[end - 1] == paint[(end - 1) % 4]) {
        end--;
    }
    return end > kept || !model->in_ram ? end : model->file.size;
}

uint32_t engine_arena_peak(const engine_t *engine) {
    return with_kept(engine, peak_of_arena(engine));
}
