/* Where the weights of a layer go at the end of a step: docs/arithmetic-fqt.md, section 6. */
#include "formats/float32.h"
#include "methods/fqt.h"

#define MOST_WEIGHT 0x1p20f
#define LEAST_WIDTH 0x1p-20f

/* A layer while it moves. */
typedef struct {
    const model_t *model;
    uint8_t l;
    const graph_layer_t *layer;
    float u, rate; /* eta, or 1 where the optimizer has it */
    float *gradient;
    fqt_optimizer_t optimizer;
    affine8_tail_t tail; /* affine8: as it was */
    float low, high;     /* of f, and 0 */
    bool leaves;         /* an f left its bounds */
} moving_t;

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

static float moved_by(const moving_t *moving, uint32_t i, float e) {
    return moving->optimizer.moves_at_once ? e : fqt_optimized(&moving->optimizer, i, e);
}

/* f of the weights of a channel; without a sample that kept it they stay, and it has no gradient. */
static void move_channel(moving_t *moving, uint32_t o) {
    const fqt_channel_t channel = fqt_channel(moving->layer, o);
    const bool kept = is_kept(moving, o);
    const fqt_standard_t standard =
        kept ? fqt_standard(moving->model, moving->l, o, moving->u, moving->rate) : (fqt_standard_t){.u = 0.0f};
    for (uint32_t k = 0, i = channel.first; k < channel.count; k++, i += channel.step) {
        const float scaled = kept ? standard.u * moving->gradient[i] : 0.0f, e = standard.r * (scaled - standard.mean);
        const float d = kept ? moved_by(moving, i, e) : 0.0f, f = weight_of(moving, i) - d;
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
    const uint32_t weights = graph_weight_count(moving->layer);
    float *gradient = moving->gradient + weights;
    bool inside = true;
    for (uint32_t o = 0; o < channels; o++) {
        const bool moves = is_kept(moving, o);
        const float scaled = moves ? moving->u * gradient[o] : 0.0f, e = moving->rate * scaled;
        const float d = moves ? moved_by(moving, weights + o, e) : 0.0f;
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
                       .rate = settings->optimizer == OPTIMIZER_SGD ? settings->eta : 1.0f,
                       .gradient = fqt_gradient(model, l),
                       .optimizer = fqt_optimizer(model, l)};
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
