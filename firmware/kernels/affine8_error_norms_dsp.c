#include "kernels/dsp.h"

#if KERNELS_DSP

#include <stdbool.h>

#include "kernels/affine8.h"
#include "kernels/dsp_multiply.h"

enum { FOUR = 4, EIGHT = 8, FIT = 257 /* numbers of 8 bits whose sum has 16 */ };

/* Sums of four channels in lanes of 16 bits. */
typedef struct {
    uint32_t even, odd;
} lanes_t;

static inline void take(lanes_t *sums, const int8_t *error, uint32_t zeros) {
    const uint32_t apart = distances_s8(load_word(error), zeros);
    sums->even = add_even_lanes_u8(sums->even, apart);
    sums->odd = add_odd_lanes_u8(sums->odd, apart);
}

static inline void add(const lanes_t *sums, uint32_t *norms) {
    norms[0] += sums->even & 0xFFFFu;
    norms[1] += sums->odd & 0xFFFFu;
    norms[2] += sums->even >> 16;
    norms[3] += sums->odd >> 16;
}

/* Of four channels, or of eight, which is a constant to the compiler. */
static inline __attribute__((always_inline)) void add_norms(const int8_t *error, uint32_t zeros, uint32_t positions,
                                                            uint32_t channels, bool eight, uint32_t *norms) {
    lanes_t first = {0, 0}, second = {0, 0};
    for (const int8_t *const end = error + positions * channels; error != end; error += channels) {
        take(&first, error, zeros);
        if (eight) {
            take(&second, error + FOUR, zeros);
        }
    }
    add(&first, norms);
    if (eight) {
        add(&second, norms + FOUR);
    }
}

static void add_norm_of_one(const int8_t *error, int32_t zero, uint32_t positions, uint32_t channels, uint32_t *norm) {
    for (const int8_t *const end = error + positions * channels; error != end; error += channels) {
        const int32_t e = *error - zero;
        *norm += (uint32_t)(e < 0 ? -e : e);
    }
}

static void add_all(const int8_t *error, int32_t zero, uint32_t positions, uint32_t channels, uint32_t *norms) {
    const uint32_t zeros = four_times(zero);
    uint32_t o = 0;
    for (; o + EIGHT <= channels; o += EIGHT) {
        add_norms(error + o, zeros, positions, channels, true, norms + o);
    }
    for (; o + FOUR <= channels; o += FOUR) {
        add_norms(error + o, zeros, positions, channels, false, norms + o);
    }
    for (; o < channels; o++) {
        add_norm_of_one(error + o, zero, positions, channels, norms + o);
    }
}

void affine8_error_norms(const int8_t *error, int8_t zero, uint32_t positions, uint32_t channels, uint32_t *norms) {
    memset(norms, 0, channels * sizeof norms[0]);
    for (uint32_t n; positions > 0; positions -= n, error += n * channels) {
        n = positions < FIT ? positions : FIT;
        add_all(error, zero, n, channels, norms);
    }
}

#endif
