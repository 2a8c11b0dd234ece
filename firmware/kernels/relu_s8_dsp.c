#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/elementwise.h"

void relu_s8(int8_t *values, uint32_t n) {
    for (; n >= 4; n -= 4, values += 4) {
        const uint32_t word = load_word(values);
        store_word(values, where_at_least_s8(word, 0, word, 0));
    }
    for (; n > 0; n--, values++) {
        *values = *values > 0 ? *values : 0;
    }
}

#endif
