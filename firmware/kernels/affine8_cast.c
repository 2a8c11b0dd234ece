#include "kernels/affine8_elementwise.h"

void affine8_cast(const int8_t *in, uint32_t n, float scale, int8_t zero, float *out) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = scale * (float)(in[i] - zero);
    }
}
