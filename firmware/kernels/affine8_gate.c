#include "kernels/affine8_elementwise.h"

void affine8_gate(const int8_t *out, uint32_t n, int32_t least, int32_t most, int8_t zero, int8_t *error) {
    if (least < INT8_MIN && most > INT8_MAX) {
        return; /* no activation: all are open */
    }
    for (uint32_t i = 0; i < n; i++) {
        const bool open = out[i] > least && out[i] < most;
        error[i] = open ? error[i] : zero;
    }
}
