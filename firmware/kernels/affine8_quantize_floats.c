#include <string.h>

#include "arith/float32.h"
#include "kernels/affine8_errors.h"
#include "kernels/losses.h"

#define LEAST_WIDTH 0x1p-100f /* below it all is 0 */

/* Element i of a float tensor. */
typedef float element_t(const void *context, uint32_t i);

/* Inlined, so that the compiler knows `element`. */
static inline __attribute__((always_inline)) affine8_error_t quantize_floats(element_t *element, const void *context,
                                                                             uint32_t n, bool floors, int8_t *out) {
    float low = 0.0f, high = 0.0f;
    for (uint32_t i = 0; i < n; i++) {
        const float x = element(context, i);
        low = float32_least(low, x);
        high = float32_most(high, x);
    }
    if (high - low < LEAST_WIDTH) {
        memset(out, 0, n);
        return (affine8_error_t){.s = 0.0f};
    }
    const affine8_params_t params = affine8_params(low, high, floors);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = affine8_quantize(element(context, i), params.j, params.z, floors);
    }
    return (affine8_error_t){.s = params.s, .z = params.z};
}

static float number(const void *context, uint32_t i) {
    return ((const float *)context)[i];
}

affine8_error_t affine8_quantize_f32(const float *values, uint32_t n, bool floors, int8_t *out) {
    return quantize_floats(number, values, n, floors, out);
}

typedef struct {
    const int8_t *logits;
    int32_t largest;
    float scale, sum;
    uint32_t label;
} softmax_t;

static float term(const softmax_t *softmax, uint32_t j) {
    return exp32((float)(softmax->logits[j] - softmax->largest) * softmax->scale);
}

static float softmax_less_one_hot(const void *context, uint32_t j) {
    const softmax_t *softmax = context;
    const float share = term(softmax, j) / softmax->sum;
    return j == softmax->label ? share - 1.0f : share;
}

affine8_error_t affine8_logits_error(const int8_t *logits, uint32_t n, float scale, uint32_t label, bool floors,
                                     int8_t *out) {
    softmax_t softmax = {.logits = logits, .largest = logits[argmax_s8(logits, n)], .scale = scale, .label = label};
    for (uint32_t j = 0; j < n; j++) {
        softmax.sum = softmax.sum + term(&softmax, j);
    }
    return quantize_floats(softmax_less_one_hot, &softmax, n, floors, out);
}
