#include <string.h>

#include "arith/float32.h"
#include "arith/xxh32.h"
#include "check.h"
#include "naive_model.h"
#include "net/engine.h"
#include "net/trace.h"

typedef struct {
    uint8_t *pixels, *labels;
    int8_t *inputs; /* the pixels as the text turns them into int8 */
    uint32_t count, elements;
} batch_t;

static batch_t draw_batch(const network_t *network, uint32_t count) {
    const uint32_t elements = shape_inputs(&network->layer[0].shape);
    batch_t batch = {.pixels = take(count * elements), .labels = take(count), .inputs = take(count * elements), .count = count,
                     .elements = elements};
    const int32_t darkest = draw(0, 1) == 0 ? 255 : 0; /* some batches are all white */
    for (uint32_t i = 0; i < count * elements; i++) {
        batch.pixels[i] = (uint8_t)draw(darkest, 255);
        batch.inputs[i] = (int8_t)(batch.pixels[i] / 2);
    }
    for (uint32_t b = 0; b < count; b++) {
        batch.labels[b] = (uint8_t)draw(0, network->classes - 1);
    }
    return batch;
}

static void free_batch(batch_t *batch) {
    free(batch->pixels);
    free(batch->labels);
    free(batch->inputs);
}

static uint32_t cycles(void) {
    static uint32_t count = UINT32_MAX - 1000; /* passes 0 in the first run */
    return count += 7;
}

static void load(engine_t *engine, const network_file_t *file) {
    CHECK(engine_load_begin(engine, file->size).code == 0, "load_begin");
    for (uint32_t at = 0; at < file->size;) {
        const uint32_t left = file->size - at, n = left < 1000 ? left : 1000;
        CHECK(engine_load_data(engine, at, file->bytes + at, n).code == 0, "load_data");
        at += n;
    }
    CHECK(engine_load_end(engine).code == 0, "load_end");
}

static void put(engine_t *engine, const batch_t *batch) {
    for (uint32_t b = batch->count; b-- > 0;) { /* in any order */
        const uint8_t *pixels = batch->pixels + b * batch->elements;
        CHECK(engine_put_sample(engine, (uint16_t)b, batch->labels[b], pixels, batch->elements).code == 0, "put_sample");
    }
}

static void check_weights(const engine_t *engine, const naive_model_t *model, const uint32_t *digests) {
    for (uint8_t l = 0; l < model->network.tensors; l++) {
        const uint32_t layer = model->network.tensor_layer[l], n = model->network.layer[layer].weights;
        int8_t *weights = take(n);
        CHECK(engine_read_tensor(engine, l, 0, n, (uint8_t *)weights).code == 0, "read_tensor");
        check_s8(weights, model->weights[layer], n, "weights");
        CHECK(digests[l] == xxh32(model->weights[layer], n, 0), "digest of tensor %u", l);
        free(weights);
    }
}

static void check_cycles(const step_result_t *result, const settings_t *settings, const network_t *network) {
    const uint32_t phases = result->cycles_perturb + result->cycles_forward + result->cycles_backward + result->cycles_update +
                            result->cycles_digest;
    CHECK(result->cycles_digest > 0 && result->cycles_forward > 0 && result->cycles_update > 0, "a phase took no time");
    CHECK((result->cycles_perturb > 0) == (settings->partition > 0), "perturb");
    CHECK((result->cycles_backward > 0) == (settings->partition < network->tensors), "backward");
    /* All that is outside a phase is reading the counter: at the start and between update and digest. */
    CHECK(result->cycles_total == phases + 2 * 7, "total %u, phases %u", result->cycles_total, phases);
}

static void train_one_step(engine_t *engine, naive_model_t *model, const settings_t *settings, uint32_t step) {
    const uint32_t count = (uint32_t)draw(1, settings->batch);
    batch_t batch = draw_batch(&model->network, count);
    step_result_t found;
    put(engine, &batch);
    const failure_t failure = engine_step(engine, step, (uint16_t)count, &found);
    CHECK(failure.code == 0, "step: code %u", failure.code);
    const step_result_t expected = naive_model_step(model, settings, step, batch.inputs, batch.labels, count);
    CHECK(float32_bits(found.loss_plus) == float32_bits(expected.loss_plus) &&
              float32_bits(found.loss_minus) == float32_bits(expected.loss_minus),
          "losses %a, %a, not %a, %a", (double)found.loss_plus, (double)found.loss_minus, (double)expected.loss_plus,
          (double)expected.loss_minus);
    CHECK(found.sign == expected.sign && found.step == step, "sign %d, not %d", found.sign, expected.sign);
    check_weights(engine, model, found.digests);
    check_cycles(&found, settings, &model->network);
    free_batch(&batch);
}

static void evaluate(engine_t *engine, naive_model_t *model, const settings_t *settings) {
    batch_t batch = draw_batch(&model->network, settings->batch);
    const uint32_t classes = model->network.classes, last = model->network.layers - 1u;
    uint8_t *predictions = take(batch.count), *digested = take(batch.count * (classes + 2));
    infer_result_t result = {.predictions = predictions};
    put(engine, &batch);
    CHECK(engine_infer(engine, (uint16_t)batch.count, &result).code == 0, "infer");
    uint32_t correct = 0;
    for (uint32_t b = 0; b < batch.count; b++) {
        const int8_t *logits = naive_model_forward(model, batch.inputs + b * batch.elements);
        uint32_t best = 0;
        for (uint32_t j = 0; j < classes; j++) {
            best = logits[j] > logits[best] ? j : best;
        }
        CHECK(predictions[b] == best, "sample %u: class %u, not %u", b, predictions[b], best);
        correct += best == batch.labels[b];
        uint8_t *at = digested + b * (classes + 2);
        memcpy(at, logits, classes);
        put_u16(at + classes, (uint32_t)model->exponent[last] & 0xFFFFu);
    }
    CHECK(result.correct == correct, "%u correct, not %u", result.correct, correct);
    CHECK(result.logits_digest == xxh32(digested, batch.count * (classes + 2), 0), "digest of the logits");
    free(predictions);
    free(digested);
    free_batch(&batch);
}

/* One sample stage by stage: the digests of all stages, then every stage in pieces of seven bytes. */
static void trace_a_sample(engine_t *engine, naive_model_t *model, const settings_t *settings) {
    batch_t batch = draw_batch(&model->network, 1);
    const uint32_t layers = model->network.layers;
    const bool backwards = settings->partition < model->network.tensors;
    uint32_t digests[2 * ENGINE_MAX_LAYERS], length = sizeof digests;
    put(engine, &batch);
    CHECK(engine_trace(engine, 0, TRACE_ALL_STAGES, 0, (uint8_t *)digests, &length).code == 0, "trace");
    naive_model_forward(model, batch.inputs);
    model->errors = 0;
    if (backwards) {
        naive_model_backward(model, settings->partition, batch.inputs, batch.labels[0], true);
    }
    CHECK(length == (layers + model->errors) * sizeof digests[0], "%u bytes of digests", length);
    for (uint32_t i = 0; i < layers; i++) {
        const uint32_t n = shape_outputs(&model->network.layer[i].shape);
        CHECK(digests[i] == naive_digest(model->out[i], n, model->exponent[i]), "output of layer %u of %u", i, layers);
    }
    for (uint32_t i = 0; i < model->errors; i++) {
        CHECK(digests[layers + i] == model->error_digest[i], "error %u of %u", i, model->errors);
    }
    for (uint32_t stage = 0; stage < layers + model->errors; stage++) {
        xxh32_t digest;
        uint8_t piece[7];
        xxh32_begin(&digest, 0);
        uint32_t at = 0, n = sizeof piece;
        for (; n == sizeof piece; at += n) {
            CHECK(engine_trace(engine, 0, (uint16_t)stage, at, piece, &n).code == 0, "trace");
            xxh32_update(&digest, piece, n);
        }
        CHECK(xxh32_end(&digest) == digests[stage], "stage %u in pieces, %u bytes", stage, at);
    }
    free_batch(&batch);
}

/* Two steps, an evaluation and a third step, in an arena of exactly the planned size: one byte more or less shows. */
static void train(const network_file_t *file, settings_t settings) {
    naive_model_t model;
    naive_model_begin(&model, file);
    engine_t *engine = take(sizeof *engine);
    plan_t *plan = take(sizeof *plan);
    const uint8_t first_bp = network_first_bp(&model.network, settings.partition);
    const uint32_t planned = plan_make(plan, &model.network, first_bp, settings.batch);
    uint8_t *arena = take(planned);
    uint32_t told = 0;
    engine_init(engine, arena, planned, cycles);
    load(engine, file);
    const failure_t failure = engine_configure(engine, &settings, &told);
    CHECK(failure.code == 0 && told == planned, "configure: code %u, a %u, %u bytes planned", failure.code, failure.a, told);
    train_one_step(engine, &model, &settings, 0);
    train_one_step(engine, &model, &settings, 1);
    evaluate(engine, &model, &settings);
    trace_a_sample(engine, &model, &settings);
    train_one_step(engine, &model, &settings, 2);
    CHECK(engine_arena_peak(engine) <= planned, "peak %u, planned %u", engine_arena_peak(engine), planned);
    naive_model_free(&model);
    free(arena);
    free(plan);
    free(engine);
}

static settings_t draw_settings(uint8_t partition) {
    return (settings_t){
        .partition = partition,
        .b_zo = (uint8_t)draw(1, 7),
        .b_bp = (uint8_t)draw(1, 7),
        .p_zero = (uint8_t)draw(0, 255),
        .r_max = (uint8_t)draw(1, 127),
        .batch = (uint16_t)draw(1, 5),
        .seed = (uint32_t)draw(INT32_MIN, INT32_MAX),
    };
}

void test_training(void) {
    for (int round = 0; round < 60; round++) {
        network_file_t file;
        file_small_network(&file);
        train(&file, draw_settings((uint8_t)(round % 5)));
        file_free(&file);
    }
    for (int round = 0; round < 300; round++) {
        network_file_t file;
        network_t network;
        file_random_network(&file);
        CHECK(network_parse(&network, file.bytes, file.size).code == 0, "a bad file");
        train(&file, draw_settings((uint8_t)draw(0, network.tensors)));
        file_free(&file);
    }
}
