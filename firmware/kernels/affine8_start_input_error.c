#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if KERNELS_DSP || KERNELS_THUMB1

#include <string.h>

#include "kernels/conv_input_error.h"
#include "kernels/tflite_windows.h"

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

void affine8_start_input_error(const affine8_errors_t *errors, int8_t weight_zero, const layer_shape_t *shape,
                               int32_t *acc) {
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

#endif
