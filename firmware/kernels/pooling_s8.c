/* max_pool, average_pool and mean of the formats tflite8 (docs/arithmetic-tflite.md, sections 3 and 5) and affine8
   (docs/arithmetic-affine8.md, sections 3 and 4). */
#include "kernels/pooling.h"

#include <string.h>

#include "arith/rescale.h"
#include "kernels/pools.h"

void tflite_max_pool_s8(const int8_t *in, const layer_shape_t *shape, int8_t act_min, int8_t act_max, int8_t *out) {
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const pool_window_t w = pool_window(shape, y, x);
            for (uint32_t c = w.at; c < w.at + w.column; c++) {
                int32_t value = maximum_s8(in + c, w.rows, w.columns, w.row, w.column);
                value = value > act_max ? act_max : value;
                *out++ = (int8_t)(value < act_min ? act_min : value);
            }
        }
    }
}

/* sum / n, half away from zero: C's division truncates. */
static inline int32_t mean_of(int32_t sum, int32_t n) {
    return (sum < 0 ? sum - n / 2 : sum + n / 2) / n;
}

void tflite_average_pool_s8(const int8_t *in, const layer_shape_t *shape, int8_t act_min, int8_t act_max, int8_t *out) {
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const pool_window_t w = pool_window(shape, y, x);
            for (uint32_t c = w.at; c < w.at + w.column; c++) {
                const int32_t sum = sum_s8(in + c, w.rows, w.columns, w.row, w.column);
                int32_t value = mean_of(sum, (int32_t)(w.rows * w.columns));
                value = value > act_max ? act_max : value;
                *out++ = (int8_t)(value < act_min ? act_min : value);
            }
        }
    }
}

/* floor(a / b), b > 0: C's division truncates. */
static inline int32_t divide_down(int32_t a, int32_t b) {
    return a / b - (a % b < 0);
}

void affine8_average_pool(const int8_t *in, const layer_shape_t *shape, bool floors, int8_t *out) {
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const pool_window_t w = pool_window(shape, y, x);
            const int32_t n = (int32_t)(w.rows * w.columns), half = floors ? 0 : n / 2;
            for (uint32_t c = w.at; c < w.at + w.column; c++) {
                *out++ = (int8_t)divide_down(sum_s8(in + c, w.rows, w.columns, w.row, w.column) + half, n);
            }
        }
    }
}

void max_pool_error_s8(const int8_t *in, const int8_t *error, const layer_shape_t *shape, int8_t zero,
                       int8_t *input_error) {
    memset(input_error, zero, shape_inputs(shape));
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const pool_window_t w = whole_window(shape, y, x);
            for (uint32_t c = w.at; c < w.at + w.column; c++) {
                input_error[c + first_maximum_s8(in + c, w.rows, w.columns, w.row, w.column)] = *error++;
            }
        }
    }
}

void average_pool_error_s8(const int8_t *error, const layer_shape_t *shape, int8_t zero, int8_t *input_error) {
    if (shape->out_h * shape->kernel_h != shape->in_h || shape->out_w * shape->kernel_w != shape->in_w) {
        memset(input_error, zero, shape_inputs(shape)); /* some inputs are in no window */
    }
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++, error += shape->in_c) {
            const pool_window_t w = whole_window(shape, y, x);
            for (uint32_t i = 0; i < w.rows; i++) {
                for (uint32_t j = 0; j < w.columns; j++) {
                    memcpy(input_error + w.at + i * w.row + j * w.column, error, w.column);
                }
            }
        }
    }
}

/* The sum of one channel, whose values are `step` bytes apart; by fours, since the compiler unrolls no loop of unknown
   length. */
static int32_t channel_sum(const int8_t *in, uint32_t positions, uint32_t step) {
    int32_t sum = 0;
    for (; positions >= 4; positions -= 4, in += 4 * step) {
        sum += in[0] + in[step] + in[2 * step] + in[3 * step];
    }
    for (; positions > 0; positions--, in += step) {
        sum += *in;
    }
    return sum;
}

void tflite_mean_s8(const int8_t *in, uint32_t positions, uint32_t channels, const tflite_mean_t *mean, int8_t *out) {
    const int32_t zeros = (int32_t)positions * mean->input_zero;
    for (uint32_t c = 0; c < channels; c++) {
        const int32_t acc = channel_sum(in + c, positions, channels) - zeros;
        const int64_t scaled = mean->single ? rescale_single(acc, mean->multiplier, mean->shift)
                                            : rescale_double(acc, mean->multiplier, mean->shift);
        const int64_t value = scaled + mean->output_zero;
        out[c] = (int8_t)(value < mean->act_min ? mean->act_min : value > mean->act_max ? mean->act_max : value);
    }
}

void tflite_mean_s8_backward(const int8_t *error, uint32_t positions, uint32_t channels, int8_t *input_error) {
    for (uint32_t p = 0; p < positions; p++) {
        memcpy(input_error + p * channels, error, channels);
    }
}
