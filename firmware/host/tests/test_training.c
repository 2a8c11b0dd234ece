/* Whole trials of random networks and settings against the plain forms. */
#include <string.h>

#include "arith/float32.h"
#include "arith/xxh32.h"
#include "check.h"
#include "engine/trace.h"
#include "naive_step.h"
#include "trainee.h"

static uint32_t cycles(void) {
    static uint32_t count = UINT32_MAX - 1000; /* passes 0 in the first run */
    return count += 7;
}

static void check_weights(const engine_t *engine, const naive_model_t *model, const uint32_t *digests) {
    for (uint8_t l = 0; l < graph_weighted(&model->file); l++) {
        const uint8_t layer = graph_weighted_layer(&model->file, (uint8_t)l);
        const uint32_t n = graph_weight_count(graph_layer(&model->file, layer));
        int8_t *weights = take(n);
        CHECK(engine_read_tensor(engine, l, 0, n, (uint8_t *)weights).code == 0, "read_tensor");
        check_s8(weights, model->weights[layer], n, "weights");
        CHECK(digests[l] == xxh32(model->weights[layer], n, 0), "digest of tensor %u", l);
        free(weights);
    }
}

static void check_result(const step_result_t *found, const step_result_t *expected) {
    CHECK(float32_bits(found->loss_plus) == float32_bits(expected->loss_plus) &&
              float32_bits(found->loss_minus) == float32_bits(expected->loss_minus),
          "losses %a, %a, not %a, %a", (double)found->loss_plus, (double)found->loss_minus, (double)expected->loss_plus,
          (double)expected->loss_minus);
    CHECK(found->sign == expected->sign && found->step == expected->step, "sign %d, not %d", found->sign,
          expected->sign);
}

static void train_one_step(engine_t *engine, naive_model_t *model, uint32_t step) {
    const elasticzo_settings_t *settings = elasticzo_settings(&engine->model);
    const bool resident = settings->slots == settings->batch && draw(0, 1) == 0;
    batch_t batch = draw_batch(&model->file, (uint32_t)draw(1, settings->batch));
    const trained_t found = resident ? step_at_once(engine, step, &batch) : step_in_parts(engine, step, &batch);
    const step_result_t expected = naive_step(model, settings, step, batch.inputs, batch.labels, batch.count);
    check_result(&found.result, &expected);
    check_weights(engine, model, found.digests);
    free_batch(&batch);
}

static void evaluate(engine_t *engine, naive_model_t *model) {
    batch_t batch = draw_batch(&model->file, engine->model.settings.slots);
    const uint32_t classes = graph_header(&model->file)->classes, last = model->file.layers - 1u;
    uint8_t *predictions = take(batch.count), *digested = take(batch.count * (classes + 2));
    infer_result_t result = {.predictions = predictions};
    put_samples(engine, &batch, 0, batch.count);
    CHECK(engine_infer(engine, (uint16_t)batch.count, &result).code == 0, "infer");
    uint32_t correct = 0;
    for (uint32_t b = 0; b < batch.count; b++) {
        const int8_t *logits = naive_model_forward(model, batch.inputs + b * batch.elements, 1);
        uint32_t best = 0;
        for (uint32_t j = 0; j < classes; j++) {
            best = logits[j] > logits[best] ? j : best;
        }
        CHECK(predictions[b] == best, "sample %u: class %u, not %u", b, predictions[b], best);
        correct += best == batch.labels[b];
        uint8_t *at = digested + b * (classes + 2);
        memcpy(at, logits, classes);
        const int16_t exponent = (int16_t)model->exponent[last];
        memcpy(at + classes, &exponent, sizeof exponent);
    }
    CHECK(result.correct == correct, "%u correct, not %u", result.correct, correct);
    CHECK(result.logits_digest == xxh32(digested, batch.count * (classes + 2), 0), "digest of the logits");
    free(predictions);
    free(digested);
    free_batch(&batch);
}

/* Forward and backward by the plain forms, of the group that the traced sample is in; returns its place there. */
static uint32_t trace_plainly(naive_model_t *model, const elasticzo_settings_t *settings, const batch_t *batch,
                              uint32_t slot) {
    const bool grouped = settings->scope == SCOPE_BATCH;
    const uint32_t first = grouped ? 0 : slot, count = grouped ? batch->count : 1;
    naive_model_forward(model, batch->inputs + first * batch->elements, count);
    model->observed = slot - first;
    model->errors = 0;
    if (settings->partition < graph_weighted(&model->file)) {
        naive_model_backward(model, settings, batch->inputs + first * batch->elements, batch->labels + first, count,
                             true);
    }
    return slot - first;
}

static void check_stage_in_pieces(engine_t *engine, uint16_t slot, uint32_t stage, uint32_t expected) {
    xxh32_t digest;
    uint8_t piece[7];
    xxh32_begin(&digest, 0);
    uint32_t at = 0, n = sizeof piece;
    for (; n == sizeof piece; at += n) {
        CHECK(engine_trace(engine, slot, (uint16_t)stage, at, piece, &n).code == 0, "trace");
        xxh32_update(&digest, piece, n);
    }
    CHECK(xxh32_end(&digest) == expected, "stage %u in pieces, %u bytes", stage, at);
}

/* One sample stage by stage: the digests of all stages, then every stage in pieces of seven bytes. */
static void trace_a_sample(engine_t *engine, naive_model_t *model) {
    batch_t batch = draw_batch(&model->file, (uint32_t)draw(1, engine->model.settings.slots));
    const uint32_t layers = model->file.layers;
    const uint16_t slot = (uint16_t)draw(0, (int32_t)batch.count - 1);
    uint32_t digests[ENGINE_MAX_TENSORS], length = sizeof digests;
    put_samples(engine, &batch, 0, batch.count);
    CHECK(engine_trace(engine, slot, TRACE_ALL_STAGES, 0, (uint8_t *)digests, &length).code == 0, "trace");
    const uint32_t member = trace_plainly(model, elasticzo_settings(&engine->model), &batch, slot);
    CHECK(length == (layers + model->errors) * sizeof digests[0], "%u bytes of digests", length);
    for (uint32_t i = 0; i < layers; i++) {
        const uint32_t n = graph_outputs(graph_layer(&model->file, (uint8_t)i));
        const uint32_t expected = naive_digest(model->out[i] + member * n, n, model->exponent[i]);
        CHECK(digests[i] == expected, "output of layer %u of %u", i, layers);
    }
    for (uint32_t i = 0; i < model->errors; i++) {
        CHECK(digests[layers + i] == model->error_digest[i], "error %u of %u", i, model->errors);
    }
    for (uint32_t stage = 0; stage < layers + model->errors; stage++) {
        check_stage_in_pieces(engine, slot, stage, digests[stage]);
    }
    model->observed = 0;
    free_batch(&batch);
}

/* The settings that a schedule may change between two steps. */
static void change_settings(engine_t *engine) {
    elasticzo_settings_t settings = *elasticzo_settings(&engine->model);
    uint32_t planned = 0;
    settings.first_step = engine->under_way.step;
    settings.b_zo = (uint8_t)draw(1, 7);
    settings.b_bp = (uint8_t)draw(1, 7);
    settings.p_zero = (uint8_t)draw(0, 255);
    settings.r_max = (uint8_t)draw(1, settings.perturb == PERTURB_EXACT ? 63 : 127);
    CHECK(engine_configure(engine, &elasticzo_int8, &settings, &planned).code == 0, "configure in mid-training");
}

/* Two steps, an evaluation, a trace, a change of the schedule and a third step. */
static void train(const graph_made_t *file, elasticzo_settings_t settings) {
    naive_model_t model;
    naive_model_begin(&model, file, settings.batch);
    trainee_t trainee = trainee_begin(file, &settings, cycles);
    train_one_step(trainee.engine, &model, settings.first_step);
    train_one_step(trainee.engine, &model, settings.first_step + 1);
    evaluate(trainee.engine, &model);
    trace_a_sample(trainee.engine, &model);
    change_settings(trainee.engine);
    train_one_step(trainee.engine, &model, settings.first_step + 2);
    trainee_end(&trainee);
    naive_model_free(&model);
}

void test_training(void) {
    for (int round = 0; round < 120; round++) {
        graph_made_t file;
        chain_small(&file);
        train(&file, draw_settings((uint8_t)(round % 5)));
        made_free(&file);
    }
    for (int round = 0; round < 400; round++) {
        graph_made_t file;
        graph_file_t opened;
        chain_random(&file);
        CHECK(graph_file_open(&opened, file.bytes, file.size).code == 0, "a bad file");
        train(&file, draw_settings((uint8_t)draw(0, graph_weighted(&opened))));
        made_free(&file);
    }
}
