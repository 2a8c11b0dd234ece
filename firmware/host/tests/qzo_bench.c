#include "qzo_bench.h"

#include "check.h"

enum { ARENA = 16384 };

uint32_t qzo_no_cycles(void) {
    return 0;
}

const qzo_ff_settings_t qzo_plain = {.method = METHOD_QZO_FF,
                                     .batch = 2,
                                     .slots = 2,
                                     .seed = 1,
                                     .directions = 1,
                                     .epsilon = 0.001f,
                                     .eta = 0.001f,
                                     .beta1 = 0.9f,
                                     .beta2 = 0.95f,
                                     .last_layers = 64,
                                     .smoothing = 26,
                                     .keep = 26};

qzo_bench_t qzo_bench_of(const w16a8_made_t *made, bool flash) {
    qzo_bench_t bench = {.engine = take(sizeof *bench.engine), .arena = take(ARENA), .made = *made};
    engine_init(bench.engine, registry_formats, bench.arena, ARENA, qzo_no_cycles);
    if (!flash) {
        CHECK(engine_load_begin(bench.engine, made->size).code == 0, "load_begin");
        CHECK(engine_load_data(bench.engine, 0, made->bytes, made->size).code == 0, "load_data");
    }
    const failure_t failure =
        flash ? engine_use_flash(bench.engine, made->bytes, made->size) : engine_load_end(bench.engine);
    CHECK(failure.code == 0, "code %u, a %u, b %u", failure.code, failure.a, failure.b);
    return bench;
}

void qzo_bench_free(qzo_bench_t *bench) {
    free(bench->engine);
    free(bench->arena);
    free(bench->made.bytes);
}

void qzo_configure(qzo_bench_t *bench, const qzo_ff_settings_t *settings) {
    const failure_t failure =
        engine_configure(bench->engine, registry_method(METHOD_QZO_FF), settings, &bench->planned);
    CHECK(failure.code == 0, "configure: code %u, a %u, b %u", failure.code, failure.a, failure.b);
}

const int16_t *qzo_weights(const qzo_bench_t *bench, uint8_t l) {
    return (const int16_t *)(const void *)model_weights(&bench->engine->model, l);
}

void qzo_fill(qzo_bench_t *bench, uint16_t first, uint16_t count) {
    static const uint8_t pixels[2][4] = {{200, 17, 90, 255}, {3, 240, 128, 60}};
    for (uint16_t slot = 0; slot < count; slot++) {
        const uint16_t sample = (uint16_t)(first + slot);
        CHECK(engine_put_sample(bench->engine, slot, (uint8_t)sample, pixels[sample], 4).code == 0, "a sample");
    }
}

step_result_t qzo_train(qzo_bench_t *bench, uint32_t step, uint16_t slots, uint32_t digests[]) {
    step_result_t result;
    const uint16_t all = bench->engine->model.training.passes;
    for (uint16_t pass = 0; slots == 1 && pass < all; pass++) {
        for (uint16_t first = 0; first < 2; first++) {
            qzo_fill(bench, first, 1);
            const failure_t failure = engine_part(bench->engine, step, (uint8_t)pass, first, 1);
            CHECK(failure.code == 0, "part: code %u, a %u, b %u", failure.code, failure.a, failure.b);
        }
    }
    if (slots == 2) {
        qzo_fill(bench, 0, 2);
    }
    const failure_t failure = engine_step(bench->engine, step, 2, &result, digests);
    CHECK(failure.code == 0, "step: code %u, a %u, b %u", failure.code, failure.a, failure.b);
    return result;
}
