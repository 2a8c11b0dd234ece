#include "kernels/dsp.h"

#if KERNELS_DSP

#include <stdbool.h>

#include "kernels/affine8.h"
#include "kernels/dsp_multiply.h"

enum { TWO = 2, FOUR = 4, EIGHT = 8, FIT = 257 /* numbers of 8 bits whose sum has 16 */ };

/* Errors in memory, position by position. */
typedef struct {
    const int8_t *error;
    int32_t zero;
    uint32_t positions, channels;
    bool further; /* the norms have begun */
} errors_t;

/* Sums of four channels in lanes of 16 bits. */
typedef struct {
    uint32_t even, odd;
} lanes_t;

static inline void take(lanes_t *sums, const int8_t *error, uint32_t zeros) {
    const uint32_t apart = distances_s8(load_word(error), zeros);
    sums->even = add_even_lanes_u8(sums->even, apart);
    sums->odd = add_odd_lanes_u8(sums->odd, apart);
}

static inline void give(const lanes_t *sums, bool further, uint32_t *norms) {
    const uint32_t four[FOUR] = {sums->even & 0xFFFFu, sums->odd & 0xFFFFu, sums->even >> 16, sums->odd >> 16};
    for (uint32_t i = 0; i < FOUR; i++) {
        norms[i] = further ? norms[i] + four[i] : four[i];
    }
}

/* Of four channels from `error` on, or of eight, which is a constant to the compiler; two positions at a time. */
static inline __attribute__((always_inline)) void norms_of(const errors_t *errors, const int8_t *error, bool eight,
                                                           uint32_t *norms) {
    const uint32_t channels = errors->channels, rest = errors->positions % TWO, zeros = four_times(errors->zero);
    const int8_t *const twos = error + (errors->positions - rest) * channels, *const end = twos + rest * channels;
    lanes_t first = {0, 0}, second = {0, 0};
    while (error != twos) {
        for (uint32_t i = 0; i < TWO; i++, error += channels) {
            take(&first, error, zeros);
            if (eight) {
                take(&second, error + FOUR, zeros);
            }
        }
    }
    for (; error != end; error += channels) {
        take(&first, error, zeros);
        if (eight) {
            take(&second, error + FOUR, zeros);
        }
    }
    give(&first, errors->further, norms);
    if (eight) {
        give(&second, errors->further, norms + FOUR);
    }
}

static uint32_t norm_of_one(const errors_t *errors, const int8_t *error) {
    uint32_t norm = 0;
    for (const int8_t *const end = error + errors->positions * errors->channels; error != end;
         error += errors->channels) {
        const int32_t e = *error - errors->zero;
        norm += (uint32_t)(e < 0 ? -e : e);
    }
    return norm;
}

static void all_norms(const errors_t *errors, uint32_t *norms) {
    const uint32_t channels = errors->channels;
    uint32_t o = 0;
    for (; o + EIGHT <= channels; o += EIGHT) {
        norms_of(errors, errors->error + o, true, norms + o);
    }
    for (; o + FOUR <= channels; o += FOUR) {
        norms_of(errors, errors->error + o, false, norms + o);
    }
    for (; o < channels; o++) {
        norms[o] = norm_of_one(errors, errors->error + o) + (errors->further ? norms[o] : 0);
    }
}

void affine8_error_norms(const int8_t *error, int8_t zero, uint32_t positions, uint32_t channels, uint32_t *norms) {
    errors_t errors = {.error = error, .zero = zero, .channels = channels};
    for (; positions > 0; positions -= errors.positions, errors.error += errors.positions * channels) {
        errors.positions = positions < FIT ? positions : FIT;
        all_norms(&errors, norms);
        errors.further = true;
    }
}

#endif
