#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/backward_dsp.h"
#include "kernels/convolution.h"

enum { FEW_TAPS = 48 };

/* The part of a kernel axis that lies inside the input, for the output position `at`: taps first..end-1, the first of
   them on input position `input`. */
typedef struct {
    uint32_t first, end, input;
} inside_t;

static inline inside_t taps_inside(uint32_t at, uint32_t kernel, uint32_t padding, uint32_t size) {
    const uint32_t first = at < padding ? padding - at : 0;
    const uint32_t room = size + padding - at; /* input positions from tap 0 to the far edge */
    return (inside_t){.first = first, .end = kernel < room ? kernel : room, .input = at + first - padding};
}

/* What the window of a position has inside the input. */
static inline runs_t runs_inside(const layer_shape_t *shape, inside_t vertical, inside_t horizontal, int32_t *acc) {
    const uint32_t in_c = shape->in_c, word = sizeof *acc;
    const uint32_t n = (horizontal.end - horizontal.first) * in_c, pitch = shape->in_w * in_c;
    int32_t *const first = acc + vertical.input * pitch + horizontal.input * in_c;
    return (runs_t){
        .fours = n / 4 * 4 * word,
        .rest = n % 4 * word,
        .row_skip = shape->kernel_w * in_c - n,
        .acc_skip = (pitch - n) * word,
        .acc = first,
        .acc_end = first + (vertical.end - vertical.first) * pitch,
    };
}

/* Four channels of all positions: those at `error` that `mask` has. */
static void spread_four(const int8_t *error, uint32_t mask, const four_weights_t *wide, const layer_shape_t *shape,
                        int32_t *acc) {
    const uint32_t in_c = shape->in_c, row = shape->kernel_w * in_c;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const inside_t vertical = taps_inside(y, shape->kernel_h, shape->padding, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++, error += shape->out_c) {
            const uint32_t errors = load_word(error) & mask;
            if (errors != 0) {
                const inside_t horizontal = taps_inside(x, shape->kernel_w, shape->padding, shape->in_w);
                const runs_t runs = runs_inside(shape, vertical, horizontal, acc);
                four_channels_add(&runs, wide + vertical.first * row + horizontal.first * in_c, errors);
            }
        }
    }
}

/* A kernel of few taps: its weights are widened once for all positions. If the channels are no whole fours, the last
   four begin with channels of the four before. */
static void spread_fours(const int8_t *error, const int8_t *weights, const layer_shape_t *shape, uint32_t taps,
                         int32_t *acc) {
    four_weights_t wide[FEW_TAPS];
    for (uint32_t o = 0; o < shape->out_c; o += 4) {
        const uint32_t first = o + 4 <= shape->out_c ? o : shape->out_c - 4u;
        four_channels_widen(weights + first * taps, taps, wide);
        spread_four(error + first, UINT32_MAX << 8 * (o - first), wide, shape, acc);
    }
}

void conv2d_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape, int32_t *acc) {
    const uint32_t in_c = shape->in_c, row = shape->kernel_w * in_c;
    const uint32_t taps = shape->kernel_h * row;
    memset(acc, 0, shape_inputs(shape) * sizeof acc[0]);
    if (taps <= FEW_TAPS && shape->out_c >= 4) {
        spread_fours(error, weights, shape, taps, acc);
        return;
    }
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const inside_t vertical = taps_inside(y, shape->kernel_h, shape->padding, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const inside_t horizontal = taps_inside(x, shape->kernel_w, shape->padding, shape->in_w);
            const runs_t runs = runs_inside(shape, vertical, horizontal, acc);
            const int8_t *const first = weights + vertical.first * row + horizontal.first * in_c;
            weighted_runs_add_all(&runs, error, shape->out_c, first, taps);
            error += shape->out_c;
        }
    }
}

#endif
