#include "kernels/affine8_elementwise.h"

#define SIXTH 0x1.555556p-3f
#define ONE 128.0f /* the slope 1 */

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
        const float slope = x <= -3.0f ? 0.0f : x >= 3.0f ? ONE : ((twice + 3.0f) * SIXTH) * ONE;
        *slopes++ = (int16_t)affine8_round(slope, false);
    }
}

void affine8_look_up(const int8_t *in, uint32_t n, const int8_t outputs[AFFINE8_VALUES], int8_t *out) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = outputs[in[i] - INT8_MIN];
    }
}
