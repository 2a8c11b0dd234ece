#include "kernels/error_sums_s8.h"

#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/dsp_multiply.h"

enum { FIT = 255 }; /* bytes whose sum has 16 bits */

void error_sums_s8(const int8_t *error, uint32_t positions, uint32_t channels, int32_t sums[ERROR_SUMS]) {
    memset(sums, 0, ERROR_SUMS * sizeof sums[0]);
    while (positions > 0) {
        const uint32_t n = positions < FIT ? positions : FIT;
        uint32_t even = 0, odd = 0;
        for (const int8_t *const end = error + n * channels; error != end; error += channels) {
            const uint32_t word = load_word(error);
            even = add_even_lanes(even, word);
            odd = add_odd_lanes(odd, word);
        }
        sums[0] += (int16_t)(even & 0xFFFFu);
        sums[1] += (int16_t)(odd & 0xFFFFu);
        sums[2] += (int16_t)(even >> 16);
        sums[3] += (int16_t)(odd >> 16);
        positions -= n;
    }
}

#else

void error_sums_s8(const int8_t *error, uint32_t positions, uint32_t channels, int32_t sums[ERROR_SUMS]) {
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (const int8_t *const end = error + positions * channels; error != end; error += channels) {
        s0 += error[0];
        s1 += error[1];
        s2 += error[2];
        s3 += error[3];
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

#endif
