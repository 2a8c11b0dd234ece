#include "kernels/tflite_unfold_gradient.h"

void tflite_unfold_gradient(const int8_t *error, uint32_t positions, uint32_t channels, uint32_t taps, int8_t input_zero,
                            int32_t *gradient) {
    for (uint32_t o = 0; o < channels; o++) {
        int32_t sum = 0;
        for (uint32_t p = 0; p < positions; p++) {
            sum += error[p * channels + o];
        }
        const uint32_t offset = (uint32_t)input_zero * (uint32_t)sum;
        for (uint32_t t = 0; t < taps; t++) {
            gradient[t] = (int32_t)((uint32_t)gradient[t] - offset);
        }
        gradient += taps;
    }
}
