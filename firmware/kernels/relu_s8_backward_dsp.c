#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/elementwise.h"

void relu_s8_backward(const int8_t *out, int8_t *error, uint32_t n) {
    for (; n >= 4; n -= 4, out += 4, error += 4) {
        store_word(error, where_at_least_s8(0, load_word(out), 0, load_word(error)));
    }
    for (; n > 0; n--, out++, error++) {
        *error = *out > 0 ? *error : 0;
    }
}

#endif
