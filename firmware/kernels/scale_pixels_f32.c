#include "kernels/elementwise_f32.h"

enum { MIDDLE = 128 };

void scale_pixels_f32(const uint8_t *pixels, uint32_t n, float scale, int32_t zero, float *out) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = scale * (float)(pixels[i] - MIDDLE - zero);
    }
}
