/* Channels of an error by their L1 norm: docs/arithmetic-fqt.md, section 4. */
#include "kernels/affine8.h"

#include <stdbool.h>

#include "kernels/dsp.h"

#if KERNELS_DSP

enum { FOUR = 4, EIGHT = 8, FIT = 257 /* numbers of 8 bits whose sum has 16 */ };

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

static inline void take(lanes_t *sums, uint32_t word, uint32_t zeros) {
    const uint32_t apart = distances_s8(word, zeros);
    sums->even = add_even_lanes_u8(sums->even, apart);
    sums->odd = add_odd_lanes_u8(sums->odd, apart);
}

static inline void give(const lanes_t *sums, bool further, uint32_t *norms) {
    const int32_t four[FOUR] = {(int32_t)(sums->even & 0xFFFFu), (int32_t)(sums->odd & 0xFFFFu),
                                (int32_t)(sums->even >> 16), (int32_t)(sums->odd >> 16)};
    if (!further) {
        put_four((int32_t *)norms, four);
        return;
    }
    for (uint32_t i = 0; i < FOUR; i++) {
        norms[i] += (uint32_t)four[i];
    }
}

/* The errors of eight channels. LDRD takes words at their own addresses only. */
static inline void take_eight(lanes_t *first, lanes_t *second, const int8_t *error, bool aligned, uint32_t zeros) {
    uint32_t two[2] = {0, 0};
    if (aligned) {
        load_two(error, two);
    } else {
        two[0] = load_word(error);
        two[1] = load_word(error + FOUR);
    }
    take(first, two[0], zeros);
    take(second, two[1], zeros);
}

/* Of eight channels from `error` on, by two positions. Whether all are `aligned` is a constant to the compiler. */
INLINED void norms_of_eight(const errors_t *errors, const int8_t *error, bool aligned, uint32_t *norms) {
    const uint32_t channels = errors->channels, zeros = four_times(errors->zero);
    const int8_t *const twos = error + errors->positions / 2 * 2 * channels;
    lanes_t first = {0, 0}, second = {0, 0};
    while (error != twos) {
        take_eight(&first, &second, error, aligned, zeros);
        error += channels;
        take_eight(&first, &second, error, aligned, zeros);
        error += channels;
    }
    if (errors->positions % 2 != 0) {
        take_eight(&first, &second, error, aligned, zeros);
    }
    give(&first, errors->further, norms);
    give(&second, errors->further, norms + FOUR);
}

static void norms_of_four(const errors_t *errors, const int8_t *error, uint32_t *norms) {
    const uint32_t zeros = four_times(errors->zero);
    lanes_t sums = {0, 0};
    for (const int8_t *const end = error + errors->positions * errors->channels; error != end;
         error += errors->channels) {
        take(&sums, load_word(error), zeros);
    }
    give(&sums, errors->further, norms);
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
    const int8_t *const error = errors->error;
    const bool aligned = (channels | (uintptr_t)error) % FOUR == 0;
    uint32_t o = 0;
    for (; aligned && o + EIGHT <= channels; o += EIGHT) {
        norms_of_eight(errors, error + o, true, norms + o);
    }
    for (; o + EIGHT <= channels; o += EIGHT) {
        norms_of_eight(errors, error + o, false, norms + o);
    }
    for (; o + FOUR <= channels; o += FOUR) {
        norms_of_four(errors, error + o, norms + o);
    }
    for (; o < channels; o++) {
        norms[o] = norm_of_one(errors, error + o) + (errors->further ? norms[o] : 0);
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

#else

void affine8_error_norms(const int8_t *error, int8_t zero, uint32_t positions, uint32_t channels, uint32_t *norms) {
    for (uint32_t o = 0; o < channels; o++) {
        norms[o] = 0;
    }
    for (uint32_t p = 0; p < positions; p++) {
        for (uint32_t o = 0; o < channels; o++) {
            const int32_t e = *error++ - zero;
            norms[o] += (uint32_t)(e < 0 ? -e : e);
        }
    }
}

#endif
