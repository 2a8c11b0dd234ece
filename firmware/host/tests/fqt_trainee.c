#include "fqt_trainee.h"

#include "check.h"
#include "float32_made.h"
#include "trainer/registry.h"

fqt_settings_t fqt_defaults(void) {
    return (fqt_settings_t){.method = METHOD_FQT,
                            .batch = 2,
                            .slots = 2,
                            .seed = 1,
                            .last_layers = 64,
                            .train_bias = 1,
                            .eta = 0.01f,
                            .gradient = GRADIENT_SUM,
                            .standardise = STANDARDISE_RUNNING,
                            .statistics_momentum = 0.01f,
                            .epsilon = 1e-8f,
                            .range_momentum = 0.0625f,
                            .range_growth = 0.125f,
                            .error_range = ERROR_RANGE_SAMPLE,
                            .lambda_min = 1.0f,
                            .lambda_max = 1.0f,
                            .rate = RATE_RATIO,
                            .optimizer = OPTIMIZER_SGD,
                            .beta1 = 0.9f,
                            .beta2 = 0.999f};
}

static uint32_t no_cycles(void) {
    return 0;
}

static failure_t use(const fqt_trainee_t *trainee, const graph_made_t *made, uint32_t size,
                     const fqt_settings_t *settings, bool in_flash, uint32_t *planned) {
    failure_t failure;
    engine_init(trainee->engine, registry_formats, trainee->arena, size, no_cycles);
    if (in_flash) {
        failure = engine_use_flash(trainee->engine, made->bytes, made->size);
    } else {
        CHECK(engine_load_begin(trainee->engine, made->size).code == 0, "load_begin");
        CHECK(engine_load_data(trainee->engine, 0, made->bytes, made->size).code == 0, "load_data");
        failure = engine_load_end(trainee->engine);
    }
    CHECK(failure.code == 0, "code %u, a %u, b %u", failure.code, failure.a, failure.b);
    return engine_configure(trainee->engine, registry_method(settings->method), settings, planned);
}

fqt_trainee_t fqt_trainee_new(const graph_made_t *made, const fqt_settings_t *settings, bool in_flash) {
    const uint32_t first = in_flash ? 8 : made->size;
    fqt_trainee_t trainee = {.engine = take(sizeof *trainee.engine), .arena = take(first)};
    failure_t failure = use(&trainee, made, first, settings, in_flash, &trainee.planned);
    CHECK(failure.code == FAILURE_DOES_NOT_FIT, "it needs more: code %u, a %u, b %u", failure.code, failure.a,
          failure.b);
    free(trainee.arena);
    trainee.arena = take(trainee.planned);
    failure = use(&trainee, made, trainee.planned, settings, in_flash, &trainee.planned);
    CHECK(failure.code == 0, "code %u, a %u, b %u", failure.code, failure.a, failure.b);
    return trainee;
}

void fqt_trainee_free(fqt_trainee_t *trainee) {
    free(trainee->engine);
    free(trainee->arena);
}

void fqt_fill(const fqt_trainee_t *trainee, uint16_t first, uint16_t count) {
    vector_fill(trainee->engine, first, count);
}
