#include "kernels/requantize.h"

void tflite_fold_bias_sums(const int32_t *bias, const int32_t *sums, int8_t input_zero, uint32_t channels,
                           int32_t *folded) {
    for (uint32_t o = 0; o < channels; o++) {
        folded[o] = (int32_t)((uint32_t)bias[o] - (uint32_t)input_zero * (uint32_t)sums[o]);
    }
}
