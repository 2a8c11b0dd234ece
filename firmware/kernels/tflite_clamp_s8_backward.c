#include "kernels/layer_errors.h"

void tflite_clamp_s8_backward(const int8_t *out, int8_t *error, uint32_t n, int8_t act_min, int8_t act_max) {
    for (uint32_t i = 0; i < n; i++) {
        error[i] = out[i] > act_min && out[i] < act_max ? error[i] : 0;
    }
}
