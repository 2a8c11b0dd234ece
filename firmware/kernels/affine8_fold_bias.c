#include "kernels/affine8.h"

void affine8_fold_bias(const int32_t *bias, const int8_t *weights, int8_t weight_zero, uint32_t taps, uint32_t tap_step,
                       uint32_t channels, uint32_t channel_step, int8_t input_zero, int32_t *folded) {
    for (uint32_t o = 0; o < channels; o++) {
        const int8_t *weight = weights + o * channel_step;
        int32_t sum = 0;
        for (uint32_t t = 0; t < taps; t++, weight += tap_step) {
            sum += *weight - weight_zero;
        }
        folded[o] = (int32_t)((uint32_t)bias[o] - (uint32_t)input_zero * (uint32_t)sum);
    }
}
