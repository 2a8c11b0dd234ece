#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/affine8.h"
#include "kernels/dsp_multiply.h"

enum { FOUR = 4, FIT = 257 /* numbers of 8 bits whose sum has 16 */ };

/* Of four channels; differences of bytes add up in lanes of 16 bits. */
static void norms_of_four(const int8_t *error, uint32_t zeros, uint32_t positions, uint32_t channels, uint32_t *norms) {
    for (uint32_t i = 0; i < FOUR; i++) {
        norms[i] = 0;
    }
    while (positions > 0) {
        const uint32_t n = positions < FIT ? positions : FIT;
        uint32_t even = 0, odd = 0;
        for (const int8_t *const end = error + n * channels; error != end; error += channels) {
            const uint32_t apart = distances_s8(load_word(error), zeros);
            even = add_even_lanes_u8(even, apart);
            odd = add_odd_lanes_u8(odd, apart);
        }
        norms[0] += even & 0xFFFFu;
        norms[1] += odd & 0xFFFFu;
        norms[2] += even >> 16;
        norms[3] += odd >> 16;
        positions -= n;
    }
}

static uint32_t norm_of_one(const int8_t *error, int32_t zero, uint32_t positions, uint32_t channels) {
    uint32_t norm = 0;
    for (const int8_t *const end = error + positions * channels; error != end; error += channels) {
        const int32_t e = *error - zero;
        norm += (uint32_t)(e < 0 ? -e : e);
    }
    return norm;
}

void affine8_error_norms(const int8_t *error, int8_t zero, uint32_t positions, uint32_t channels, uint32_t *norms) {
    const uint32_t fours = channels / FOUR * FOUR;
    for (uint32_t o = 0; o < fours; o += FOUR) {
        norms_of_four(error + o, four_times(zero), positions, channels, norms + o);
    }
    for (uint32_t o = fours; o < channels; o++) {
        norms[o] = norm_of_one(error + o, zero, positions, channels);
    }
}

#endif
