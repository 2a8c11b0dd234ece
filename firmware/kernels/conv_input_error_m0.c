#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include "kernels/conv_input_error.h"
#include "kernels/terms_s8.h"
#include "kernels/tflite_windows.h"

enum { CHUNK = 64 }; /* channels at a time, 8 bytes of stack each */

bool conv_error_widens(const affine8_errors_t *errors, const layer_shape_t *shape) {
    (void)errors;
    (void)shape;
    return false;
}

/* Spread the errors of one output position over the inputs under its window. */
static void spread_position(const term_t *terms, uint32_t n, const int8_t *weights, const layer_shape_t *shape,
                            span_t vertical, span_t horizontal, int32_t *acc) {
    const uint32_t in_c = shape->in_c;
    const uint32_t acc_row = shape->in_w * in_c, weights_row = shape->kernel_w * in_c;
    const uint32_t taps = horizontal.inside * in_c;
    acc += vertical.at * acc_row + horizontal.at * in_c;
    weights += vertical.before * weights_row + horizontal.before * in_c;
    for (uint32_t left = vertical.inside; left > 0; left--) {
        terms_add_sums(terms, n, weights, 1, taps, acc);
        acc += acc_row;
        weights += weights_row;
    }
}

void conv_add_input_error(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                          const layer_shape_t *shape, uint32_t stride_h, uint32_t stride_w, int32_t *acc) {
    const uint32_t taps = (uint32_t)shape->kernel_h * shape->kernel_w * shape->in_c, count = errors->count;
    const int8_t *error = errors->error;
    (void)weight_zero;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t vertical = span_of(y, stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++, error += count) {
            const span_t horizontal = span_of(x, stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            for (uint32_t first = 0; first < count; first += CHUNK) {
                term_t terms[CHUNK];
                const uint32_t n = count - first < CHUNK ? count - first : CHUNK;
                const term_t *end = terms_of_errors(terms, errors, error, first, n, taps);
                if (end != terms) {
                    spread_position(terms, (uint32_t)(end - terms), weights, shape, vertical, horizontal, acc);
                }
            }
        }
    }
}

#endif
