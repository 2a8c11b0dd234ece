/* max_pool and average_pool in binary32: docs/arithmetic-float32.md, sections 3 and 5. */
#include "kernels/pooling_f32.h"

#include <string.h>

#include "kernels/windows.h"

/* The largest of one channel, over `h` by `w` positions that are `row` and `column` elements apart. */
static float largest(const float *in, uint32_t h, uint32_t w, uint32_t row, uint32_t column) {
    float found = *in;
    for (uint32_t i = 0; i < h; i++) {
        for (uint32_t j = 0; j < w; j++) {
            const float value = in[i * row + j * column];
            found = value > found ? value : found;
        }
    }
    return found;
}

void max_pool_f32(const float *in, const layer_shape_t *shape, float *out) {
    const uint32_t column = shape->in_c, row = shape->in_w * column;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t rows = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const span_t columns = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            const float *window = in + rows.at * row + columns.at * column;
            for (uint32_t c = 0; c < column; c++) {
                *out++ = largest(window + c, rows.inside, columns.inside, row, column);
            }
        }
    }
}

/* Offset of the first maximum of one channel of a window. */
static uint32_t first_maximum(const float *in, const layer_shape_t *shape) {
    const uint32_t column = shape->in_c, row = shape->in_w * column;
    uint32_t found = 0;
    for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
        for (uint32_t kx = 0; kx < shape->kernel_w; kx++) {
            const uint32_t at = ky * row + kx * column;
            found = in[at] > in[found] ? at : found;
        }
    }
    return found;
}

void max_pool_f32_backward(const float *in, const float *error, const layer_shape_t *shape, bool further,
                           float *input_error) {
    const uint32_t channels = shape->in_c, row = shape->in_w * channels;
    if (!further) {
        memset(input_error, 0, shape_inputs(shape) * sizeof *input_error);
    }
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const uint32_t window = y * shape->stride_h * row + x * shape->stride_w * channels;
            for (uint32_t c = window; c < window + channels; c++) {
                give_error_f32(&input_error[c + first_maximum(in + c, shape)], *error++, further);
            }
        }
    }
}

/* The sum of one channel, over `h` by `w` positions that are `row` and `column` elements apart. */
static float sum_of(const float *in, uint32_t h, uint32_t w, uint32_t row, uint32_t column) {
    float sum = 0.0f;
    for (uint32_t i = 0; i < h; i++) {
        for (uint32_t j = 0; j < w; j++) {
            sum = sum + in[i * row + j * column];
        }
    }
    return sum;
}

void average_pool_f32(const float *in, const layer_shape_t *shape, float *out) {
    const uint32_t column = shape->in_c, row = shape->in_w * column;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t rows = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const span_t columns = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            const float *window = in + rows.at * row + columns.at * column;
            const float n = (float)(rows.inside * columns.inside);
            for (uint32_t c = 0; c < column; c++) {
                const float mean = sum_of(window + c, rows.inside, columns.inside, row, column) / n;
                *out++ = mean + 0.0f; /* a quotient may have become -0 */
            }
        }
    }
}

/* The part of each position of one channel of a window. */
static void give_window(float part, const layer_shape_t *shape, bool further, float *input_error) {
    const uint32_t column = shape->in_c, row = shape->in_w * column;
    for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
        for (uint32_t kx = 0; kx < shape->kernel_w; kx++) {
            give_error_f32(&input_error[ky * row + kx * column], part, further);
        }
    }
}

void average_pool_f32_backward(const float *error, const layer_shape_t *shape, bool further, float *input_error) {
    const uint32_t channels = shape->in_c, row = shape->in_w * channels;
    const float n = (float)((uint32_t)shape->kernel_h * shape->kernel_w);
    if (!further) {
        memset(input_error, 0, shape_inputs(shape) * sizeof *input_error);
    }
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const uint32_t window = y * shape->stride_h * row + x * shape->stride_w * channels;
            for (uint32_t c = window; c < window + channels; c++) {
                const float part = *error++ / n;
                give_window(part + 0.0f, shape, further, input_error + c); /* a quotient may have become -0 */
            }
        }
    }
}
