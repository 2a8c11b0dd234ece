#include "kernels/dsp.h"

#if !KERNELS_DSP /* else largest_bits_s32_dsp.c */

#include "kernels/requantize.h"

#include "arith/bits.h"

int32_t largest_bits_s32(const int32_t *values, uint32_t n) {
    uint32_t any = 0; /* its highest bit is the highest of the largest magnitude */
    for (uint32_t i = 0; i < n; i++) {
        any |= magnitude(values[i]);
    }
    return bits(any);
}

#endif
