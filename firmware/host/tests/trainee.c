#include "trainee.h"

#include "check.h"
#include "trainer/registry.h"

batch_t draw_batch(const graph_file_t *file, uint32_t count) {
    const uint32_t elements = (uint32_t)graph_elements(file, 0);
    batch_t batch = {.pixels = take(count * elements),
                     .labels = take(count),
                     .inputs = take(count * elements),
                     .count = count,
                     .elements = elements};
    const int32_t darkest = draw(0, 1) == 0 ? 255 : 0; /* some batches are all white */
    for (uint32_t i = 0; i < count * elements; i++) {
        batch.pixels[i] = (uint8_t)draw(darkest, 255);
        batch.inputs[i] = (int8_t)(batch.pixels[i] / 2);
    }
    for (uint32_t b = 0; b < count; b++) {
        batch.labels[b] = (uint8_t)draw(0, graph_header(file)->classes - 1);
    }
    return batch;
}

void free_batch(batch_t *batch) {
    free(batch->pixels);
    free(batch->labels);
    free(batch->inputs);
}

elasticzo_settings_t draw_settings(uint8_t partition) {
    elasticzo_settings_t settings = {
        .partition = partition,
        .b_zo = (uint8_t)draw(1, 7),
        .b_bp = (uint8_t)draw(1, 7),
        .p_zero = (uint8_t)draw(0, 255),
        .loss = (uint8_t)draw(LOSS_FLOAT, LOSS_INTEGER),
        .scope = (uint8_t)draw(SCOPE_SAMPLE, SCOPE_BATCH),
        .perturb = (uint8_t)draw(PERTURB_CLAMPED, PERTURB_EXACT),
        .logit_error = (uint8_t)draw(LOGIT_ERROR_NITI, LOGIT_ERROR_ZERO_SUM),
    };
    settings.batch = (uint16_t)draw(1, 5);
    settings.seed = (uint32_t)draw(INT32_MIN, INT32_MAX);
    settings.first_step = draw(0, 1) == 0 ? 0 : (uint32_t)draw(INT32_MIN, INT32_MAX);
    settings.loss_fraction = settings.loss == LOSS_INTEGER ? (uint8_t)draw(0, 6) : 0;
    settings.r_max = (uint8_t)draw(1, settings.perturb == PERTURB_EXACT ? 63 : 127);
    settings.slots = settings.scope == SCOPE_BATCH ? settings.batch : (uint16_t)draw(1, settings.batch);
    return settings;
}

static void load(engine_t *engine, const graph_made_t *file) {
    CHECK(engine_load_begin(engine, file->size).code == 0, "load_begin");
    for (uint32_t at = 0; at < file->size;) {
        const uint32_t left = file->size - at, n = left < 1000 ? left : 1000;
        CHECK(engine_load_data(engine, at, file->bytes + at, n).code == 0, "load_data");
        at += n;
    }
    CHECK(engine_load_end(engine).code == 0, "load_end");
}

/* The file alone does not leave room for a plan: the refusal says how much is needed. */
static uint32_t bytes_planned(engine_t *engine, const graph_made_t *file, const elasticzo_settings_t *settings) {
    uint8_t *arena = take(file->size);
    uint32_t planned = 0;
    engine_init(engine, registry_formats, arena, file->size, NULL);
    load(engine, file);
    const failure_t failure = engine_configure(engine, &elasticzo_int8, settings, &planned);
    CHECK(failure.code == FAILURE_DOES_NOT_FIT && failure.a == planned, "configure: code %u, a %u", failure.code,
          failure.a);
    free(arena);
    return planned;
}

trainee_t trainee_begin(const graph_made_t *file, const elasticzo_settings_t *settings, uint32_t (*cycles)(void)) {
    trainee_t trainee = {.engine = take(sizeof(engine_t))};
    uint32_t told = 0;
    trainee.planned = bytes_planned(trainee.engine, file, settings);
    trainee.arena = take(trainee.planned);
    engine_init(trainee.engine, registry_formats, trainee.arena, trainee.planned, cycles);
    load(trainee.engine, file);
    const failure_t failure = engine_configure(trainee.engine, &elasticzo_int8, settings, &told);
    CHECK(failure.code == 0 && told == trainee.planned, "configure: code %u, a %u, %u bytes planned", failure.code,
          failure.a, told);
    return trainee;
}

void trainee_end(trainee_t *trainee) {
    CHECK(engine_arena_peak(trainee->engine) <= trainee->planned, "the peak is beyond the %u bytes planned",
          trainee->planned);
    free(trainee->arena);
    free(trainee->engine);
}

void put_samples(engine_t *engine, const batch_t *batch, uint32_t first, uint32_t count) {
    for (uint32_t slot = count; slot-- > 0;) { /* in any order */
        const uint32_t b = first + slot;
        const uint8_t *pixels = batch->pixels + b * batch->elements;
        CHECK(engine_put_sample(engine, (uint16_t)slot, batch->labels[b], pixels, batch->elements).code == 0,
              "put_sample");
    }
}

static trained_t end_step(engine_t *engine, uint32_t step, uint32_t count) {
    trained_t trained;
    const failure_t failure = engine_step(engine, step, (uint16_t)count, &trained.result, trained.digests);
    CHECK(failure.code == 0, "step: code %u, a %u, b %u", failure.code, failure.a, failure.b);
    return trained;
}

trained_t step_at_once(engine_t *engine, uint32_t step, const batch_t *batch) {
    put_samples(engine, batch, 0, batch->count);
    return end_step(engine, step, batch->count);
}

trained_t step_in_parts(engine_t *engine, uint32_t step, const batch_t *batch) {
    const elasticzo_settings_t *settings = elasticzo_settings(&engine->model);
    const uint8_t passes = settings->partition > 0 ? 2 : 1;
    for (uint8_t pass = 0; pass < passes; pass++) {
        for (uint32_t first = 0; first < batch->count;) {
            const uint32_t left = batch->count - first, most = left < settings->slots ? left : settings->slots;
            const uint32_t count = settings->scope == SCOPE_BATCH ? left : (uint32_t)draw(1, (int32_t)most);
            put_samples(engine, batch, first, count);
            const failure_t failure = engine_part(engine, step, pass, (uint16_t)first, (uint16_t)count);
            CHECK(failure.code == 0, "part: code %u, a %u, b %u", failure.code, failure.a, failure.b);
            first += count;
        }
    }
    return end_step(engine, step, batch->count);
}
