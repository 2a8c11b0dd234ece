#include "graph_trainee.h"

#include <string.h>

#include "check.h"
#include "trainer/registry.h"

extern const method_t poor_mans, deepzero, back_propagation, tinytrain;

static uint32_t no_cycles(void) {
    return 0;
}

tflite8_settings_t trainee_settings(void) {
    return (tflite8_settings_t){.blocks = 15,
                                .train_bias = 1,
                                .perturb = PERTURB_ADAPTIVE,
                                .gns = 1,
                                .qas = 1,
                                .queries = 3,
                                .eta = 0.01f,
                                .batch = 1,
                                .seed = 5,
                                .slots = 1,
                                .ranking = 1,
                                .memory_budget = 1 << 20,
                                .work_budget = 38,
                                .channels = 128};
}

static void use(engine_t *engine, const graph_made_t *made, uint8_t *arena, uint32_t size, bool flash) {
    engine_init(engine, registry_formats, arena, size, no_cycles);
    failure_t failure;
    if (flash) {
        failure = engine_use_flash(engine, made->bytes, made->size);
    } else {
        CHECK(engine_load_begin(engine, made->size).code == 0, "load_begin");
        CHECK(engine_load_data(engine, 0, made->bytes, made->size).code == 0, "load_data");
        failure = engine_load_end(engine);
    }
    CHECK(failure.code == 0, "code %u, a %u, b %u", failure.code, failure.a, failure.b);
}

const method_t *graph_trainee_method(uint8_t number) {
    static const method_t *const methods[] = {[METHOD_POOR_MANS] = &poor_mans,
                                              [METHOD_DEEPZERO] = &deepzero,
                                              [METHOD_BP] = &back_propagation,
                                              [METHOD_TINYTRAIN] = &tinytrain};
    CHECK(number < sizeof methods / sizeof methods[0] && methods[number] != NULL, "method %u", number);
    return methods[number];
}

failure_t graph_trainee_configure(graph_trainee_t *trainee, const tflite8_settings_t *settings) {
    return engine_configure(trainee->engine, graph_trainee_method(settings->method), settings, &trainee->planned);
}

graph_trainee_t graph_trainee_new(const graph_made_t *made, const tflite8_settings_t *settings, bool flash) {
    graph_trainee_t trainee = {.engine = take(sizeof *trainee.engine), .arena = take(made->size)};
    use(trainee.engine, made, trainee.arena, made->size, flash);
    failure_t failure = graph_trainee_configure(&trainee, settings);
    CHECK(failure.code == FAILURE_DOES_NOT_FIT || flash, "a file alone fills an arena of its size: code %u",
          failure.code);
    free(trainee.arena);
    trainee.arena = take(trainee.planned);
    use(trainee.engine, made, trainee.arena, trainee.planned, flash);
    failure = graph_trainee_configure(&trainee, settings);
    CHECK(failure.code == 0, "code %u, a %u, b %u", failure.code, failure.a, failure.b);
    return trainee;
}

void graph_trainee_free(graph_trainee_t *trainee) {
    free(trainee->engine);
    free(trainee->arena);
}

void graph_trainee_fill(graph_trainee_t *trainee, uint16_t first, uint16_t count) {
    const graph_file_t *file = &trainee->engine->model.file;
    const uint32_t n = (uint32_t)graph_elements(file, 0);
    uint8_t *pixels = take(n);
    for (uint16_t slot = 0; slot < count; slot++) {
        const uint32_t sample = (uint32_t)first + slot;
        for (uint32_t i = 0; i < n; i++) {
            pixels[i] = (uint8_t)((sample + 1) * 2654435761u * (i + 7) >> 11);
        }
        const uint8_t label = (uint8_t)(sample % graph_header(file)->classes);
        CHECK(engine_put_sample(trainee->engine, slot, label, pixels, n).code == 0, "a slot");
    }
    free(pixels);
}

uint32_t graph_trainee_step(graph_trainee_t *trainee, uint32_t step, uint16_t count, uint16_t at_once,
                            step_result_t *result) {
    uint32_t digests[ENGINE_MAX_TENSORS], sum = 0;
    for (uint16_t first = 0; at_once < count && first < count; first = (uint16_t)(first + at_once)) {
        const uint16_t left = (uint16_t)(count - first), taken = left < at_once ? left : at_once;
        graph_trainee_fill(trainee, first, taken);
        CHECK(engine_part(trainee->engine, step, 0, first, taken).code == 0, "a part");
    }
    if (at_once == count) {
        graph_trainee_fill(trainee, 0, count);
    }
    const failure_t failure = engine_step(trainee->engine, step, count, result, digests);
    CHECK(failure.code == 0, "code %u, a %u, b %u", failure.code, failure.a, failure.b);
    for (uint8_t i = 0; i < model_tensors(&trainee->engine->model); i++) {
        sum = sum * 31u + digests[i];
    }
    return sum;
}
