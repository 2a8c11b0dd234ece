#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else w16a8_sums_dsp.c, w16a8_sums_m0.c */

#include "kernels/w16a8_sums.h"

static inline int8_t output_of(int32_t acc, const w16a8_layer_t *layer) {
    const int32_t value = w16a8_rescale(acc, layer->multiplier, layer->shift) + layer->output_zero;
    const int32_t held = value > layer->act_max ? layer->act_max : value;
    return (int8_t)(held < layer->act_min ? layer->act_min : held);
}

void w16a8_outputs(int32_t *acc, uint32_t n, const w16a8_layer_t *layer, int8_t *out) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = output_of(acc[i], layer);
    }
}

/* Of two parts, in the innermost loop the length is a constant: the compiler takes several lanes at a time. */
static int64_t sum_products(const int16_t *x, const int16_t *w, uint32_t n) {
    int64_t all = 0;
    for (; n >= W16A8_FIT; n -= W16A8_FIT, x += W16A8_FIT, w += W16A8_FIT) {
        int32_t sum = 0;
        for (uint32_t i = 0; i < W16A8_FIT; i++) {
            sum += x[i] * w[i];
        }
        all += sum;
    }
    int32_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += x[i] * w[i];
    }
    return all + sum;
}

void w16a8_rows(const int16_t *vectors, uint32_t count, const int16_t *weights, uint32_t taps, uint32_t channels,
                const w16a8_layer_t *layer, int8_t *out) {
    for (uint32_t v = 0; v < count; v++, vectors += w16a8_vector(taps)) {
        const int16_t *row = weights;
        for (uint32_t o = 0; o < channels; o++, row += taps) {
            const int64_t sum = sum_products(vectors, row, taps) + layer->bias[o];
            *out++ = output_of(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : (int32_t)sum, layer);
        }
    }
}

#endif
