/* The layers with weights of the format affine8, error of the input: docs/arithmetic-affine8.md, section 7. */
#include "kernels/affine8.h"

#include <string.h>

#include "kernels/affine8_sums.h"
#include "kernels/backward_dsp.h"
#include "kernels/conv_input_error.h"
#include "kernels/dsp.h"
#include "kernels/tflite_plane_s8.h"
#include "kernels/windows.h"

#if KERNELS_DSP || KERNELS_THUMB1

/* A rectangle of inputs gets `value`: as differences along both axes, in the first channel of each input. */
static inline void add_corners(int32_t value, const layer_shape_t *shape, span_t vertical, span_t horizontal,
                               int32_t *acc) {
    const uint32_t pitch = (uint32_t)shape->in_w * shape->in_c, inside = horizontal.inside * shape->in_c;
    const bool ends = horizontal.at + horizontal.inside < shape->in_w;
    int32_t *at = acc + vertical.at * pitch + horizontal.at * shape->in_c;
    at[0] += value;
    if (ends) {
        at[inside] -= value;
    }
    if (vertical.at + vertical.inside < shape->in_h) {
        at += vertical.inside * pitch;
        at[0] -= value;
        if (ends) {
            at[inside] += value;
        }
    }
}

/* By fours, since the compiler unrolls no loop of unknown length. */
static inline int32_t *fill(int32_t *acc, uint32_t n, int32_t value) {
    for (; n >= 4; n -= 4, acc += 4) {
        acc[0] = value;
        acc[1] = value;
        acc[2] = value;
        acc[3] = value;
    }
    for (; n > 0; n--) {
        *acc++ = value;
    }
    return acc;
}

/* Sums of the differences, in all channels. */
static void sum_differences(const layer_shape_t *shape, int32_t *acc) {
    const uint32_t in_c = shape->in_c, pitch = shape->in_w * in_c;
    for (uint32_t y = 0; y < shape->in_h; y++) {
        int32_t sum = 0;
        for (const int32_t *const end = acc + pitch; acc != end;) {
            sum += *acc;
            const int32_t value = sum + (y > 0 ? *(acc - pitch) : 0);
            acc = fill(acc, in_c, value);
        }
    }
}

/* acc = what the zero point of the weights takes from them: weight_zero times the sum of the errors that an input
   meets, the same for all its channels. */
SEPARATE static void affine8_start_input_error(const affine8_errors_t *errors, int8_t weight_zero,
                                               const layer_shape_t *shape, int32_t *acc) {
    const int8_t *error = errors->error;
    const uint32_t inputs = shape_inputs(shape);
    if (weight_zero == 0 || errors->count == 0) {
        memset(acc, 0, inputs * sizeof acc[0]);
        return;
    }
    for (uint32_t i = 0; i < inputs; i += shape->in_c) {
        acc[i] = 0;
    }
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t vertical = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++, error += errors->count) {
            const int32_t sum = sum_of_errors(errors, error);
            if (sum != 0) {
                add_corners(-weight_zero * sum, shape, vertical,
                            span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w), acc);
            }
        }
    }
    sum_differences(shape, acc);
}

void affine8_conv2d_input_error(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                                const layer_shape_t *shape, int32_t *scratch, int32_t *acc) {
    (void)scratch;
    if (conv_error_widens(errors, shape)) {
        memset(acc, 0, shape_inputs(shape) * sizeof acc[0]);
    } else {
        affine8_start_input_error(errors, weight_zero, shape, acc);
    }
    conv_add_input_error(errors, weights, weight_zero, shape, shape->stride_h, shape->stride_w, acc);
}

SEPARATE void affine8_fully_connected_input_error(const affine8_errors_t *errors, const int8_t *weights,
                                                  int8_t weight_zero, uint32_t inputs, int32_t *acc) {
    const int32_t start = -weight_zero * sum_of_errors(errors, errors->error);
    for (uint32_t j = 0; j < inputs; j++) {
        acc[j] = start;
    }
    matrix_add_input_error(errors, weights, inputs, acc);
}

void affine8_depthwise_input_error(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                                   const layer_shape_t *shape, int8_t *scratch, int32_t *acc) {
    depthwise_planes_input_error_s8(errors, weights, weight_zero, shape, scratch, acc);
}

#else

/* Add what the window of an output has inside the image. */
static void add_window(const int8_t *weights, int32_t weight_zero, int32_t error, const layer_shape_t *shape,
                       span_t vertical, span_t horizontal, int32_t *acc) {
    const uint32_t in_c = shape->in_c, n = horizontal.inside * in_c;
    weights += (vertical.before * shape->kernel_w + horizontal.before) * in_c;
    acc += (vertical.at * shape->in_w + horizontal.at) * in_c;
    for (uint32_t i = 0; i < vertical.inside; i++) {
        affine8_add_row(weights, weight_zero, error, n, acc);
        weights += shape->kernel_w * in_c;
        acc += shape->in_w * in_c;
    }
}

void affine8_conv2d_input_error(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                                const layer_shape_t *shape, int32_t *scratch, int32_t *acc) {
    const uint32_t taps = shape_taps(shape);
    const int8_t *error = errors->error;
    (void)scratch;
    memset(acc, 0, shape_inputs(shape) * sizeof acc[0]);
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t vertical = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const span_t horizontal = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            for (uint32_t i = 0; i < errors->count; i++) {
                const int32_t e = *error++ - errors->zero;
                if (e != 0) {
                    add_window(weights + errors->kept[i] * taps, weight_zero, e, shape, vertical, horizontal, acc);
                }
            }
        }
    }
}

/* Add what the window of an output has inside the image, in one channel. */
static void add_channel_window(const int8_t *weights, int32_t weight_zero, int32_t error, const layer_shape_t *shape,
                               span_t vertical, span_t horizontal, int32_t *acc) {
    const uint32_t channels = shape->in_c;
    for (uint32_t i = 0; i < vertical.inside; i++) {
        const int8_t *w = weights + ((vertical.before + i) * shape->kernel_w + horizontal.before) * channels;
        int32_t *to = acc + ((vertical.at + i) * shape->in_w + horizontal.at) * channels;
        for (uint32_t j = 0; j < horizontal.inside; j++, w += channels, to += channels) {
            *to += error * (*w - weight_zero);
        }
    }
}

void affine8_depthwise_input_error(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                                   const layer_shape_t *shape, int8_t *scratch, int32_t *acc) {
    const int8_t *error = errors->error;
    (void)scratch;
    memset(acc, 0, shape_inputs(shape) * sizeof acc[0]);
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t vertical = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++, error += shape->in_c) {
            const span_t horizontal = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            for (uint32_t i = 0; i < errors->count; i++) {
                const uint32_t c = errors->kept[i];
                const int32_t e = error[c] - errors->zero;
                if (e != 0) {
                    add_channel_window(weights + c, weight_zero, e, shape, vertical, horizontal, acc + c);
                }
            }
        }
    }
}

SEPARATE void affine8_fully_connected_input_error(const affine8_errors_t *errors, const int8_t *weights,
                                                  int8_t weight_zero, uint32_t inputs, int32_t *acc) {
    memset(acc, 0, inputs * sizeof acc[0]);
    for (uint32_t i = 0; i < errors->count; i++) {
        const int32_t e = errors->error[i] - errors->zero;
        if (e != 0) {
            affine8_add_row(weights + errors->kept[i] * inputs, weight_zero, e, inputs, acc);
        }
    }
}

#endif

static inline void affine8_each_position_input_error(const affine8_errors_t *errors, const int8_t *weights,
                                                     int8_t weight_zero, const layer_shape_t *shape, int32_t *acc) {
    affine8_errors_t position = *errors;
    for (uint32_t left = (uint32_t)shape->in_h * shape->in_w; left > 0; left--) {
        affine8_fully_connected_input_error(&position, weights, weight_zero, shape->in_c, acc);
        position.error += errors->count;
        acc += shape->in_c;
    }
}

#if KERNELS_DSP

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

/* Channels o..o + 3, or those up to the last, for inputs first..first + taps - 1. The weights of those that are not
   there do not matter: their errors are 0. */
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

#else

void affine8_pointwise_input_error(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                                   const layer_shape_t *shape, int32_t *acc) {
    affine8_each_position_input_error(errors, weights, weight_zero, shape, acc);
}

#endif
