#include "kernels/gradients.h"

void tflite_bias_gradient_s8(const int8_t *error, uint32_t positions, uint32_t channels, int32_t *gradient) {
    for (uint32_t p = 0; p < positions; p++) {
        for (uint32_t o = 0; o < channels; o++) {
            gradient[o] = (int32_t)((uint32_t)gradient[o] + (uint32_t)*error++);
        }
    }
}
