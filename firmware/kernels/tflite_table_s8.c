#include "kernels/elementwise.h"

void tflite_table_s8(const int8_t *in, uint32_t n, const int8_t *table, int8_t *out) {
    const int8_t *const middle = table + 128;
    for (uint32_t i = 0; i < n; i++) {
        out[i] = middle[in[i]];
    }
}
