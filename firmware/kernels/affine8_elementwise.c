/* The layers without weights of the format affine8: docs/arithmetic-affine8.md, sections 2 to 4. */
#include "kernels/affine8_elementwise.h"

#include "arith/float32.h"

void affine8_observe(const int8_t *values, uint32_t n, int8_t extent[2]) {
    int8_t least = extent[0], most = extent[1];
    for (uint32_t i = 0; i < n; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    extent[0] = least;
    extent[1] = most;
}

void affine8_cast(const int8_t *in, uint32_t n, float scale, int8_t zero, float *out) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = scale * (float)(in[i] - zero);
    }
}

void affine8_gate(const int8_t *out, uint32_t n, int32_t least, int32_t most, int8_t zero, int8_t *error) {
    if (least < INT8_MIN && most > INT8_MAX) {
        return; /* no activation: all are open */
    }
    for (uint32_t i = 0; i < n; i++) {
        const bool open = out[i] > least && out[i] < most;
        error[i] = open ? error[i] : zero;
    }
}

#define ONE 0x1p14f /* the factor of the larger scale */

float affine8_common_scale(float a, float b, int32_t factors[2]) {
    const float common = a > b ? a : b;
    factors[0] = affine8_round((a / common) * ONE, false);
    factors[1] = affine8_round((b / common) * ONE, false);
    return common;
}

void affine8_add(const int8_t *a, const int8_t *b, uint32_t n, const affine8_two_t *two, int8_t *out) {
    for (uint32_t i = 0; i < n; i++) {
        const int32_t acc = (a[i] - two->a_zero) * two->a_factor + (b[i] - two->b_zero) * two->b_factor;
        const int32_t value = two->output_zero + affine8_rescale(acc, two->factor);
        out[i] = (int8_t)(value < two->least ? two->least : value > two->most ? two->most : value);
    }
}

void affine8_multiply(const int8_t *a, const int8_t *b, uint32_t positions, uint32_t channels, const affine8_two_t *two,
                      int8_t *out) {
    for (; positions > 0; positions--) {
        for (uint32_t c = 0; c < channels; c++) {
            const int32_t acc = (*a++ - two->a_zero) * (b[c] - two->b_zero);
            const int32_t value = two->output_zero + affine8_rescale(acc, two->factor);
            *out++ = (int8_t)(value < two->least ? two->least : value > two->most ? two->most : value);
        }
    }
}

#define SIXTH 0x1.555556p-3f
#define SLOPE_ONE 128.0f /* the slope 1 */

static float real_of(const affine8_params_t *in, int32_t q) {
    return in->s * (float)(q - in->z);
}

void affine8_hard_swish_outputs(const affine8_params_t *in, const affine8_params_t *out, bool floors,
                                int8_t outputs[AFFINE8_VALUES]) {
    for (int32_t q = INT8_MIN; q <= INT8_MAX; q++) {
        const float x = real_of(in, q), raised = x + 3.0f, above = raised < 0.0f ? 0.0f : raised,
                    t = above > 6.0f ? 6.0f : above;
        *outputs++ = affine8_quantize((x * t) * SIXTH, out->j, out->z, floors);
    }
}

void affine8_hard_swish_slopes(const affine8_params_t *in, int16_t slopes[AFFINE8_VALUES]) {
    for (int32_t q = INT8_MIN; q <= INT8_MAX; q++) {
        const float x = real_of(in, q), twice = 2.0f * x;
        const float slope = x <= -3.0f ? 0.0f : x >= 3.0f ? SLOPE_ONE : ((twice + 3.0f) * SIXTH) * SLOPE_ONE;
        *slopes++ = (int16_t)affine8_round(slope, false);
    }
}

void affine8_look_up(const int8_t *in, uint32_t n, const int8_t outputs[AFFINE8_VALUES], int8_t *out) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = outputs[in[i] - INT8_MIN];
    }
}
