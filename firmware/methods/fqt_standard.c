/* How the gradients of a channel are standardised: docs/arithmetic-fqt.md, sections 5 and 6. */
#include "arith/float32.h"
#include "kernels/sums_f32.h"
#include "methods/fqt.h"

#define MOST_MEAN 0x1p50f
#define MOST_SQUARE 0x1p100f

enum { MOST_COUNTED = 1 << 24 };

void fqt_take_moments(const model_t *model, uint8_t l, uint32_t o, float mean, float square) {
    fqt_statistics_t *statistics = &fqt_statistics(model, l)[o];
    const float momentum = fqt_settings(model)->statistics_momentum;
    const float m = clamp_f32(mean, -MOST_MEAN, MOST_MEAN), q = square > MOST_SQUARE ? MOST_SQUARE : square;
    statistics->n = statistics->n < MOST_COUNTED ? statistics->n + 1 : MOST_COUNTED;
    const float part = 1.0f / (float)statistics->n, a = part > momentum ? part : momentum;
    statistics->mean = statistics->mean + a * (m - statistics->mean);
    statistics->square = statistics->square + a * (q - statistics->square);
}

/* The mean of a channel's gradients, and that of their squares. */
typedef struct {
    float mean, square;
} means_t;

/* Those of a step. */
static means_t means_of(const model_t *model, uint8_t l, uint32_t o, float u) {
    const fqt_channel_t channel = fqt_channel(graph_layer(&model->file, l), o);
    const float *gradient = fqt_gradient(model, l) + channel.first;
    float sum = 0.0f, squares = 0.0f;
    for (uint32_t k = 0; k < channel.count; k++, gradient += channel.step) {
        const float h = clamp_f32(u * *gradient, -MOST_MEAN, MOST_MEAN), square = h * h;
        sum = sum + h;
        squares = squares + square;
    }
    const float count = (float)channel.count;
    return (means_t){.mean = sum / count, .square = squares / count};
}

/* From M, and the mean of the squares: 1 / the deviation, times the rate. */
static fqt_standard_t standard_of(const model_t *model, float u, float rate, means_t means) {
    const float square = means.mean * means.mean;
    const float root = sqrt32(clamp_f32(means.square - square, 0.0f, MOST_SQUARE));
    return (fqt_standard_t){.u = u, .r = rate / (root + fqt_settings(model)->epsilon), .mean = means.mean};
}

fqt_standard_t fqt_standard(const model_t *model, uint8_t l, uint32_t o, float u, float rate) {
    const uint8_t standardise = fqt_settings(model)->standardise;
    if (standardise == STANDARDISE_OFF) {
        return (fqt_standard_t){.u = u, .r = rate};
    }
    if (standardise == STANDARDISE_BATCH) {
        return standard_of(model, u, rate, means_of(model, l, o, u));
    }
    if (standardise == STANDARDISE_ACCUMULATED) {
        const means_t means = means_of(model, l, o, u);
        fqt_take_moments(model, l, o, means.mean, means.square);
    }
    const fqt_statistics_t *statistics = &fqt_statistics(model, l)[o];
    return standard_of(model, u, rate, (means_t){.mean = statistics->mean, .square = statistics->square});
}
