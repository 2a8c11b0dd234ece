/* Where the weights of a layer go at the end of a step: docs/arithmetic-fqt.md, section 6. */
#include "arith/float32.h"
#include "formats/float32.h"
#include "methods/fqt.h"

#define MOST_GRADIENT 0x1p50f
#define MOST_VARIANCE 0x1p100f
#define MOST_WEIGHT 0x1p20f
#define LEAST_WIDTH 0x1p-20f

/* How the gradients of a channel become moves: d = r * (u * G - M). */
typedef struct {
    float u, r, mean;
} standard_t;

/* A layer while it moves. */
typedef struct {
    const model_t *model;
    uint8_t l;
    const graph_layer_t *layer;
    float u, eta;
    float *gradient;
    affine8_tail_t tail; /* affine8: as it was */
    float low, high;     /* of f, and 0 */
    bool leaves;         /* an f left its bounds */
} moving_t;

/* 1 / the deviation, times the rate. */
static float rate_of(const moving_t *moving, float variance) {
    const float root = sqrt32(clamp_f32(variance, 0.0f, MOST_VARIANCE));
    return moving->eta / (root + fqt_settings(moving->model)->epsilon);
}

static standard_t by_running(const moving_t *moving, uint32_t o) {
    const fqt_statistics_t *statistics = &fqt_statistics(moving->model, moving->l)[o];
    const float mean = statistics->mean, square = mean * mean;
    return (standard_t){.u = moving->u, .r = rate_of(moving, statistics->square - square), .mean = mean};
}

static standard_t by_batch(const moving_t *moving, const fqt_channel_t *channel) {
    const float *gradient = moving->gradient + channel->first;
    float sum = 0.0f, squares = 0.0f;
    for (uint32_t k = 0; k < channel->count; k++, gradient += channel->step) {
        const float h = clamp_f32(moving->u * *gradient, -MOST_GRADIENT, MOST_GRADIENT), square = h * h;
        sum = sum + h;
        squares = squares + square;
    }
    const float count = (float)channel->count, mean = sum / count, square = mean * mean;
    return (standard_t){.u = moving->u, .r = rate_of(moving, squares / count - square), .mean = mean};
}

static standard_t standard_of(const moving_t *moving, uint32_t o, const fqt_channel_t *channel) {
    switch (fqt_settings(moving->model)->standardise) {
    case STANDARDISE_RUNNING: return by_running(moving, o);
    case STANDARDISE_BATCH: return by_batch(moving, channel);
    default: return (standard_t){.u = moving->u, .r = moving->eta};
    }
}

static bool is_kept(const moving_t *moving, uint32_t o) {
    const uint8_t *kept = (const uint8_t *)model_buffer(moving->model, FQT_KEPT, moving->l);
    return ((uint32_t)kept[o / 8] >> o % 8 & 1u) != 0;
}

static bool is_inside(float x) {
    return x >= -MOST_WEIGHT && x <= MOST_WEIGHT;
}

static float weight_of(const moving_t *moving, uint32_t i) {
    if (moving->layer->format == FORMAT_FLOAT32) {
        return float32_weights(moving->model, moving->l)[i];
    }
    return moving->tail.scale * (float)(model_weights(moving->model, moving->l)[i] - moving->tail.zero);
}

/* f of the weights of a channel; without a sample that kept it they stay, and it has no gradient. */
static void move_channel(moving_t *moving, uint32_t o) {
    const fqt_channel_t channel = fqt_channel(moving->layer, o);
    const bool kept = is_kept(moving, o);
    const standard_t standard = kept ? standard_of(moving, o, &channel) : (standard_t){.u = 0.0f};
    for (uint32_t k = 0, i = channel.first; k < channel.count; k++, i += channel.step) {
        const float scaled = kept ? standard.u * moving->gradient[i] : 0.0f;
        const float d = standard.r * (scaled - standard.mean), f = weight_of(moving, i) - d;
        moving->gradient[i] = f;
        moving->low = f < moving->low ? f : moving->low;
        moving->high = f > moving->high ? f : moving->high;
        moving->leaves = moving->leaves || !is_inside(f);
    }
}

/* The biases after those of the weights; returns whether they stay inside their bounds. */
static bool move_biases(const moving_t *moving) {
    const uint32_t channels = trained_biases(&moving->model->training, moving->layer);
    const float *bias = (const float *)(const void *)model_biases(moving->model, moving->l);
    float *gradient = moving->gradient + graph_weight_count(moving->layer);
    bool inside = true;
    for (uint32_t o = 0; o < channels; o++) {
        const float scaled = is_kept(moving, o) ? moving->u * gradient[o] : 0.0f, d = moving->eta * scaled;
        gradient[o] = bias[o] - d;
        inside = inside && is_inside(gradient[o]);
    }
    return inside;
}

uint8_t fqt_move(const model_t *model, uint8_t l, uint32_t samples, fqt_moved_t *moved) {
    const fqt_settings_t *settings = fqt_settings(model);
    moving_t moving = {.model = model,
                       .l = l,
                       .layer = graph_layer(&model->file, l),
                       .u = settings->gradient == GRADIENT_MEAN ? 1.0f / (float)samples : 1.0f,
                       .eta = settings->eta,
                       .gradient = fqt_gradient(model, l)};
    const bool is_affine8 = fqt_is_affine8(model, l);
    if (is_affine8) {
        moving.tail = *affine8_tail(model, l);
    }
    for (uint32_t o = 0; o < moving.layer->out_c; o++) {
        move_channel(&moving, o);
    }
    if (moving.leaves) {
        return FQT_WEIGHT_LEAVES;
    }
    if (is_affine8 && !(moving.high - moving.low >= LEAST_WIDTH)) {
        return FQT_COLLAPSED;
    }
    if (is_affine8) {
        const affine8_params_t params = affine8_params(moving.low, moving.high, false);
        moved->weight_scale = params.s;
        moved->weight_zero = params.z;
    }
    return move_biases(&moving) ? 0 : FQT_WEIGHT_LEAVES;
}
