#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/affine8_each_position.h"
#include "kernels/backward_dsp.h"
#include "kernels/dsp_multiply.h"

enum {
    FOUR = 4,
    MOST_TAPS = 48,      /* whose weights are widened at a time, 8 bytes of stack each */
    LEAST_POSITIONS = 8, /* for which that is worth while */
};

/* Four channels, the last `n` of which are there. */
typedef struct {
    const int8_t *error; /* of the first that is there */
    uint32_t n, step;    /* step: from position to position */
    int8_t zero;
} four_errors_t;

/* The errors of a position, one a byte; those that are not there stand for 0. */
static inline uint32_t errors_at(const four_errors_t *four, const int8_t *error) {
    if (four->n == FOUR) {
        return load_word(error);
    }
    const int8_t *const last = error + four->n - 1;
    const int32_t third = four->n > 1 ? last[-1] : four->zero, second = four->n > 2 ? last[-2] : four->zero;
    return low_lanes((uint32_t)(four->zero & 0xFF) | (uint32_t)(second & 0xFF) << 8,
                     (uint32_t)(third & 0xFF) | (uint32_t)*last << 8);
}

/* Add the products of `taps` inputs of each position, which are `pitch` sums apart; or begin with them. */
static void spread(const four_errors_t *four, const four_weights_t *wide, uint32_t taps, uint32_t pitch,
                   uint32_t positions, bool begins, int32_t *acc) {
    const uint32_t lane = (uint32_t)-four->zero, negative_zero = low_lanes(lane, lane);
    runs_t runs = {.fours = taps / 4 * 4 * (uint32_t)sizeof *acc, .rest = taps % 4 * (uint32_t)sizeof *acc};
    const int8_t *error = four->error;
    for (; positions > 0; positions--, acc += pitch, error += four->step) {
        const uint32_t word = errors_at(four, error), even = add_even_lanes(negative_zero, word),
                       odd = add_odd_lanes(negative_zero, word);
        runs.acc = acc;
        runs.acc_end = acc + taps;
        if (begins) {
            four_channels_begin(&runs, wide, even, odd);
        } else if ((even | odd) != 0) {
            four_channels_add(&runs, wide, even, odd);
        }
    }
}

/* Channels o..o + 3, or those up to the last, for inputs first..first + taps - 1. The weights of those that are not there
   do not matter: their errors are 0. */
static void add_four(const affine8_errors_t *errors, uint32_t o, const int8_t *weights, int8_t weight_zero,
                     const layer_shape_t *shape, uint32_t first, uint32_t taps, int32_t *acc) {
    const uint32_t count = errors->count, n = count - o < FOUR ? count - o : FOUR;
    const four_errors_t four = {.error = errors->error + o, .n = n, .step = count, .zero = errors->zero};
    const int8_t *rows[FOUR];
    four_weights_t wide[MOST_TAPS];
    for (uint32_t i = 0; i < FOUR; i++) {
        const uint32_t place = i + n < FOUR ? 0 : i + n - FOUR;
        rows[i] = weights + errors->kept[o + place] * shape->in_c + first;
    }
    four_channels_widen(rows, taps, weight_zero, 0, wide);
    spread(&four, wide, taps, shape->in_c, (uint32_t)shape->in_h * shape->in_w, o == 0, acc + first);
}

void affine8_pointwise_input_error(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                                   const layer_shape_t *shape, int32_t *acc) {
    const uint32_t in_c = shape->in_c, parts = (in_c + MOST_TAPS - 1) / MOST_TAPS;
    const uint32_t most = ((in_c + parts - 1) / parts + 3) / 4 * 4;
    if (errors->count == 0 || (uint32_t)shape->in_h * shape->in_w < LEAST_POSITIONS) {
        affine8_each_position_input_error(errors, weights, weight_zero, shape, acc);
        return;
    }
    for (uint32_t first = 0; first < in_c; first += most) {
        const uint32_t taps = in_c - first < most ? in_c - first : most;
        for (uint32_t o = 0; o < errors->count; o += FOUR) {
            add_four(errors, o, weights, weight_zero, shape, first, taps, acc);
        }
    }
}

#endif
