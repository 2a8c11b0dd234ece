/* Momentum, Adam and statistics of accumulated gradients: docs/arithmetic-fqt.md, section 6, beside a second writing of
   the text. With `momentum`, beta1 = 0 and nothing standardised, v is u * G to the bit: so an engine with the same
   weights and samples tells the gradients of a step. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "fqt_trainee.h"
#include "methods/fqt.h"

enum { STEPS = 3, LAYERS = 12, MOST = 256 };

/* What the text keeps of a layer. */
typedef struct {
    float first[MOST], second[MOST], mu[8], nu[8];
    uint32_t n[8];
} kept_of_text_t;

typedef struct {
    fqt_settings_t settings;
    float u, p1, p2;
    kept_of_text_t layer[LAYERS];
} text_t;

static void step(const fqt_trainee_t *trainee, uint32_t index) {
    step_result_t result;
    uint32_t digests[ENGINE_MAX_TENSORS];
    fqt_fill(trainee, 0, 2);
    CHECK(engine_step(trainee->engine, index, 2, &result, digests).code == 0, "a step");
}

/* u * G of all layers: an engine of its own has made a step with these weights. */
static fqt_trainee_t told(const graph_made_t *made, const fqt_trainee_t *of, fqt_settings_t settings) {
    settings.standardise = STANDARDISE_OFF;
    settings.optimizer = OPTIMIZER_MOMENTUM;
    settings.beta1 = 0.0f;
    fqt_trainee_t trainee = fqt_trainee_new(made, &settings, false);
    for (uint8_t i = 0; i < model_tensors(&of->engine->model); i++) {
        const trained_tensor_t tensor = model_tensor(&of->engine->model, i);
        CHECK(engine_write_tensor(trainee.engine, i, 0, tensor.size, tensor.bytes).code == 0, "write");
    }
    step(&trainee, 0);
    return trainee;
}

static float held(float x) {
    return x > 0x1p50f ? 0x1p50f : x < -0x1p50f ? -0x1p50f : x;
}

/* d of an element. Squares and their sums are rounded by themselves. */
static float moved(const text_t *text, kept_of_text_t *kept, uint32_t i, float e) {
    const fqt_settings_t *s = &text->settings;
    float *m = &kept->first[i], *v = &kept->second[i];
    if (s->optimizer == OPTIMIZER_SGD) {
        return e; /* eta is in it */
    }
    if (s->optimizer == OPTIMIZER_MOMENTUM) {
        const float decayed = s->beta1 * *m;
        *m = held(decayed + e);
        return s->eta * *m;
    }
    const float h = held(e), square = h * h, old1 = s->beta1 * *m, new1 = (1.0f - s->beta1) * h;
    const float old2 = s->beta2 * *v, new2 = (1.0f - s->beta2) * square;
    *m = old1 + new1;
    *v = old2 + new2;
    const float root = (float)sqrt((double)(*v / (1.0f - text->p2)));
    return s->eta * ((*m / (1.0f - text->p1)) / (root + s->epsilon));
}

/* M of a channel from its gradients, and r, which has the rate before. */
static void standard(const text_t *text, kept_of_text_t *kept, uint32_t o, const float *ug, fqt_channel_t channel,
                     float *mean, float *r) {
    const fqt_settings_t *s = &text->settings;
    float sum = 0.0f, squares = 0.0f;
    for (uint32_t k = 0; k < channel.count; k++) {
        const float h = held(ug[channel.first + k * channel.step]), square = h * h;
        sum += h;
        squares += square;
    }
    float m = sum / (float)channel.count, q = squares / (float)channel.count;
    if (s->standardise == STANDARDISE_ACCUMULATED) {
        const float part = 1.0f / (float)++kept->n[o],
                    a = part > s->statistics_momentum ? part : s->statistics_momentum;
        const float to_m = a * (m - kept->mu[o]), to_q = a * (q - kept->nu[o]);
        m = kept->mu[o] += to_m;
        q = kept->nu[o] += to_q;
    }
    const float square = m * m, variance = q - square;
    *mean = m;
    *r = *r / ((float)sqrt((double)(variance > 0.0f ? variance : 0.0f)) + s->epsilon);
}

/* What becomes of the weights of a layer, and of its biases behind them. */
static void check_layer(text_t *text, const model_t *model, uint8_t l, const float *ug, const float *before) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const uint32_t weights = graph_weight_count(layer);
    const uint8_t *bits = (const uint8_t *)model_buffer(model, FQT_KEPT, l);
    const float *now = (const float *)(const void *)model_weights(model, l),
                *bias = (const float *)(const void *)model_biases(model, l);
    const float rate = text->settings.optimizer == OPTIMIZER_SGD ? text->settings.eta : 1.0f;
    for (uint32_t o = 0; o < layer->out_c; o++) {
        const fqt_channel_t channel = fqt_channel(layer, o);
        const bool kept = (bits[o / 8] >> o % 8 & 1) != 0;
        float mean = 0.0f, r = rate;
        if (kept && text->settings.standardise != STANDARDISE_OFF) {
            standard(text, &text->layer[l], o, ug, channel, &mean, &r);
        }
        for (uint32_t k = 0, i = channel.first; k < channel.count; k++, i += channel.step) {
            const float from_mean = ug[i] - mean, e = r * from_mean;
            const float wanted = before[i] - (kept ? moved(text, &text->layer[l], i, e) : 0.0f);
            CHECK(now[i] == wanted, "layer %u, weight %u: %a, not %a", l, i, (double)now[i], (double)wanted);
        }
        const uint32_t i = weights + o;
        const float wanted = before[i] - (kept ? moved(text, &text->layer[l], i, rate * ug[i]) : 0.0f);
        CHECK(bias[o] == wanted, "layer %u, bias %u: %a, not %a", l, o, (double)bias[o], (double)wanted);
    }
}

static void check_step(text_t *text, const fqt_trainee_t *trainee, const graph_made_t *made, uint32_t index) {
    static float before[LAYERS][MOST];
    model_t *model = &trainee->engine->model;
    fqt_trainee_t teller = told(made, trainee, text->settings);
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (fqt_is_trained(model, l)) {
            const uint32_t weights = graph_weight_count(graph_layer(&model->file, l));
            CHECK(weights + graph_layer(&model->file, l)->out_c <= MOST && l < LAYERS, "room");
            memcpy(before[l], model_weights(model, l), 4 * weights);
            memcpy(before[l] + weights, model_biases(model, l), 4u * graph_layer(&model->file, l)->out_c);
        }
    }
    step(trainee, index);
    text->p1 *= text->settings.beta1;
    text->p2 *= text->settings.beta2;
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (fqt_is_trained(model, l)) {
            check_layer(text, model, l, fqt_optimizer(&teller.engine->model, l).first, before[l]);
        }
    }
    fqt_trainee_free(&teller);
}

static void check(char network, uint8_t optimizer, uint8_t standardise, float share) {
    static text_t text;
    graph_made_t made;
    text = (text_t){.settings = fqt_defaults(), .p1 = 1.0f, .p2 = 1.0f};
    fqt_settings_t *settings = &text.settings;
    settings->optimizer = optimizer;
    settings->standardise = standardise;
    settings->gradient = draw(0, 1) == 0 ? GRADIENT_SUM : GRADIENT_MEAN;
    settings->beta1 = (float)draw(0, 99) / 100.0f;
    settings->beta2 = (float)draw(0, 999) / 1000.0f;
    settings->epsilon = draw(0, 1) == 0 ? 1e-8f : 0.03f;
    settings->statistics_momentum = draw(0, 1) == 0 ? 0.01f : 0.7f;
    settings->lambda_min = settings->lambda_max = share;
    affine8_network(&made, network, true, 0);
    fqt_trainee_t trainee = fqt_trainee_new(&made, settings, draw(0, 1) == 0);
    for (uint32_t i = 0; i < STEPS; i++) {
        check_step(&text, &trainee, &made, i);
    }
    fqt_trainee_free(&trainee);
    made_free(&made);
}

/* Gradients that would leave binary32. */
static void test_bounds(void) {
    static const float large[] = {0x1p60f, 0x1p127f, INFINITY};
    float m = 0.0f, v = 0.0f;
    const adamw_t adam = {.beta1 = 0.5f,
                          .beta2 = 0.5f,
                          .rest1 = 0.5f,
                          .rest2 = 0.5f,
                          .weigh1 = 0x1p-24f,
                          .weigh2 = 0x1p-24f,
                          .epsilon = 0x1p-40f,
                          .rate = 16.0f};
    for (uint32_t i = 0; i < 3; i++) {
        fqt_optimizer_t optimizer = {.adam = adam, .first = &m};
        m = 0.0f;
        CHECK(fqt_optimized(&optimizer, 0, large[i]) == 0x1p54f && m == 0x1p50f, "v held from above");
        CHECK(fqt_optimized(&optimizer, 0, -large[i]) == -0x1p54f && m == -0x1p50f, "v held from below");
        m = v = 0.0f;
        optimizer.second = &v;
        const float d = fqt_optimized(&optimizer, 0, large[i]);
        CHECK(m == 0x1p49f && v == 0x1p99f && d > 0.0f && d <= FLT_MAX, "m %a, v %a, d %a", (double)m, (double)v,
              (double)d);
    }
}

/* By hand: A keeps 312 bytes of gradients, of which layer 0 has 80, and 64 bytes of statistics. */
static void test_memory(void) {
    static const struct {
        uint8_t standardise, optimizer;
        uint32_t bytes, at;
    } rows[] = {{STANDARDISE_RUNNING, OPTIMIZER_SGD, 1400, PLAN_NOWHERE},
                {STANDARDISE_ACCUMULATED, OPTIMIZER_SGD, 1400, PLAN_NOWHERE},
                {STANDARDISE_ACCUMULATED, OPTIMIZER_MOMENTUM, 1400 + 312, 800},
                {STANDARDISE_BATCH, OPTIMIZER_MOMENTUM, 1400 - 64 + 312, 736},
                {STANDARDISE_RUNNING, OPTIMIZER_ADAM, 1400 + 160 + 456, 800}};
    graph_made_t made;
    affine8_network(&made, 'A', false, 0);
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fqt_settings_t settings = fqt_defaults();
        settings.standardise = rows[i].standardise;
        settings.optimizer = rows[i].optimizer;
        fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, false);
        CHECK(trainee.planned == rows[i].bytes, "row %u: %u bytes", i, trainee.planned);
        CHECK(trainee.engine->model.plan.at[FQT_OPTIMIZER] == rows[i].at, "row %u", i);
        step(&trainee, 0);
        fqt_trainee_free(&trainee);
    }
    made_free(&made);
}

/* B has layers with an odd number of weights and biases: v takes what the gradients take, layer by layer. */
static void test_memory_of_layers(void) {
    graph_made_t made;
    fqt_settings_t settings = fqt_defaults();
    settings.optimizer = OPTIMIZER_MOMENTUM;
    affine8_network(&made, 'B', false, 0);
    fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, false);
    const model_t *model = &trainee.engine->model;
    const uint32_t gradients = plan_at(&model->plan, PLAN_GRADIENT, 0);
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (fqt_is_trained(model, l)) {
            const uint32_t behind = plan_at(&model->plan, PLAN_GRADIENT, l) - gradients;
            CHECK(fqt_optimizer_bytes(model, l) == behind, "layer %u: %u", l, behind);
        }
    }
    CHECK(model->plan.always - model->plan.at[FQT_OPTIMIZER] == plan_at(&model->plan, FQT_KEPT, 0) - gradients, "all");
    fqt_trainee_free(&trainee);
    made_free(&made);
}

void test_fqt_optimizers(void) {
    static const uint8_t standardise[] = {STANDARDISE_OFF, STANDARDISE_BATCH, STANDARDISE_ACCUMULATED};
    for (uint8_t i = 0; i < 2 * 3 * 3 * 2; i++) {
        check(i % 2 == 0 ? 'A' : 'B', i / 2 % 3, standardise[i / 6 % 3], i / 18 == 0 ? 1.0f : 0.4f);
    }
    test_bounds();
    test_memory();
    test_memory_of_layers();
}
