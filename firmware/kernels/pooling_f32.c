/* max_pool and average_pool in binary32: docs/arithmetic-float32.md, sections 3 and 5. */
#include "kernels/layers_f32.h"

#include <string.h>

#include "kernels/pools.h"

/* The largest of one channel of a window; the offset of its first maximum; its sum. */
static float largest(const float *in, const pool_window_t *w) {
    float found = *in;
    for (uint32_t i = 0; i < w->rows; i++) {
        for (uint32_t j = 0; j < w->columns; j++) {
            const float value = in[i * w->row + j * w->column];
            found = value > found ? value : found;
        }
    }
    return found;
}

static uint32_t first_maximum(const float *in, const pool_window_t *w) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < w->rows; i++) {
        for (uint32_t j = 0; j < w->columns; j++) {
            const uint32_t at = i * w->row + j * w->column;
            found = in[at] > in[found] ? at : found;
        }
    }
    return found;
}

static float sum_of(const float *in, const pool_window_t *w) {
    float sum = 0.0f;
    for (uint32_t i = 0; i < w->rows; i++) {
        for (uint32_t j = 0; j < w->columns; j++) {
            sum = sum + in[i * w->row + j * w->column];
        }
    }
    return sum;
}

void max_pool_f32(const float *in, const layer_shape_t *shape, float *out) {
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const pool_window_t w = pool_window(shape, y, x);
            for (uint32_t c = w.at; c < w.at + w.column; c++) {
                *out++ = largest(in + c, &w);
            }
        }
    }
}

void max_pool_f32_backward(const float *in, const float *error, const layer_shape_t *shape, bool further,
                           float *input_error) {
    if (!further) {
        memset(input_error, 0, shape_inputs(shape) * sizeof *input_error);
    }
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const pool_window_t w = whole_window(shape, y, x);
            for (uint32_t c = w.at; c < w.at + w.column; c++) {
                give_error_f32(&input_error[c + first_maximum(in + c, &w)], *error++, further);
            }
        }
    }
}

/* A quotient may have become -0. */
static inline float part_of(float sum, float n) {
    return sum / n + 0.0f;
}

void average_pool_f32(const float *in, const layer_shape_t *shape, float *out) {
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const pool_window_t w = pool_window(shape, y, x);
            const float n = (float)(w.rows * w.columns);
            for (uint32_t c = w.at; c < w.at + w.column; c++) {
                *out++ = part_of(sum_of(in + c, &w), n);
            }
        }
    }
}

static void give_window(float part, const pool_window_t *w, bool further, float *input_error) {
    for (uint32_t i = 0; i < w->rows; i++) {
        for (uint32_t j = 0; j < w->columns; j++) {
            give_error_f32(&input_error[i * w->row + j * w->column], part, further);
        }
    }
}

void average_pool_f32_backward(const float *error, const layer_shape_t *shape, bool further, float *input_error) {
    const float n = (float)((uint32_t)shape->kernel_h * shape->kernel_w);
    if (!further) {
        memset(input_error, 0, shape_inputs(shape) * sizeof *input_error);
    }
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const pool_window_t w = whole_window(shape, y, x);
            for (uint32_t c = w.at; c < w.at + w.column; c++) {
                give_window(part_of(*error++, n), &w, further, input_error + c);
            }
        }
    }
}
