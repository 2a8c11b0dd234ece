#include "kernels/affine8_elementwise.h"

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
