#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include <string.h>

#include "kernels/convolution.h"
#include "kernels/taps_inside.h"
#include "kernels/terms_s8.h"

enum { CHUNK = 64 }; /* channels at a time, 8 bytes of stack each */

/* Spread the errors of one output position over the inputs under its window. */
static void spread_position(const term_t *terms, uint32_t n, const int8_t *weights, const layer_shape_t *shape,
                            inside_t vertical, inside_t horizontal, int32_t *acc) {
    const uint32_t in_c = shape->in_c;
    const uint32_t acc_row = shape->in_w * in_c, weights_row = shape->kernel_w * in_c;
    const uint32_t taps = (horizontal.end - horizontal.first) * in_c;
    acc += vertical.input * acc_row + horizontal.input * in_c;
    weights += vertical.first * weights_row + horizontal.first * in_c;
    for (uint32_t ky = vertical.first; ky < vertical.end; ky++) {
        terms_add_sums(terms, n, weights, 1, taps, acc);
        acc += acc_row;
        weights += weights_row;
    }
}

void conv2d_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape, int32_t *acc) {
    const uint32_t taps = (uint32_t)shape->kernel_h * shape->kernel_w * shape->in_c;
    const uint32_t out_c = shape->out_c;
    memset(acc, 0, shape_inputs(shape) * sizeof acc[0]);
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const inside_t vertical = taps_inside(y, shape->kernel_h, shape->padding, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const inside_t horizontal = taps_inside(x, shape->kernel_w, shape->padding, shape->in_w);
            for (uint32_t first = 0; first < out_c; first += CHUNK) {
                term_t terms[CHUNK];
                const uint32_t n = out_c - first < CHUNK ? out_c - first : CHUNK;
                const term_t *end = terms_of_bytes(terms, error + first, n, 1, first * taps, taps);
                if (end != terms) {
                    spread_position(terms, (uint32_t)(end - terms), weights, shape, vertical, horizontal, acc);
                }
            }
            error += out_c;
        }
    }
}

#endif
