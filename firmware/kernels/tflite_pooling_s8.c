/* max_pool, average_pool and mean of the format tflite8: docs/arithmetic-tflite.md, sections 3 and 5. */
#include "kernels/pooling.h"

#include <string.h>

#include "arith/rescale.h"
#include "kernels/windows.h"

/* The largest of one channel, over `h` by `w` positions that are `row` and `column` bytes apart. */
static int32_t largest(const int8_t *in, uint32_t h, uint32_t w, uint32_t row, uint32_t column) {
    int32_t found = *in;
    for (uint32_t i = 0; i < h; i++) {
        for (uint32_t j = 0; j < w; j++) {
            const int32_t value = in[i * row + j * column];
            found = value > found ? value : found;
        }
    }
    return found;
}

void tflite_max_pool_s8(const int8_t *in, const layer_shape_t *shape, int8_t act_min, int8_t act_max, int8_t *out) {
    const uint32_t column = shape->in_c, row = shape->in_w * column;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t vertical = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const span_t horizontal = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            const int8_t *window = in + vertical.at * row + horizontal.at * column;
            for (uint32_t c = 0; c < column; c++) {
                int32_t value = largest(window + c, vertical.inside, horizontal.inside, row, column);
                value = value > act_max ? act_max : value;
                *out++ = (int8_t)(value < act_min ? act_min : value);
            }
        }
    }
}

/* Offset of the first maximum of one channel of a window. */
static uint32_t first_maximum(const int8_t *in, const layer_shape_t *shape) {
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

void tflite_max_pool_s8_backward(const int8_t *in, const int8_t *error, const layer_shape_t *shape,
                                 int8_t *input_error) {
    const uint32_t channels = shape->in_c, row = shape->in_w * channels;
    memset(input_error, 0, shape_inputs(shape));
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const uint32_t window = y * shape->stride_h * row + x * shape->stride_w * channels;
            for (uint32_t c = 0; c < channels; c++) {
                input_error[window + c + first_maximum(in + window + c, shape)] = *error++;
            }
        }
    }
}

/* The sum of one channel, over `h` by `w` positions that are `row` and `column` bytes apart. */
static int32_t window_sum(const int8_t *in, uint32_t h, uint32_t w, uint32_t row, uint32_t column) {
    int32_t sum = 0;
    for (uint32_t i = 0; i < h; i++) {
        for (uint32_t j = 0; j < w; j++) {
            sum += in[i * row + j * column];
        }
    }
    return sum;
}

/* sum / n, half away from zero: C's division truncates. */
static inline int32_t mean_of(int32_t sum, int32_t n) {
    return (sum < 0 ? sum - n / 2 : sum + n / 2) / n;
}

void tflite_average_pool_s8(const int8_t *in, const layer_shape_t *shape, int8_t act_min, int8_t act_max, int8_t *out) {
    const uint32_t column = shape->in_c, row = shape->in_w * column;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t vertical = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const span_t horizontal = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            const int8_t *window = in + vertical.at * row + horizontal.at * column;
            const int32_t n = (int32_t)(vertical.inside * horizontal.inside);
            for (uint32_t c = 0; c < column; c++) {
                int32_t value = mean_of(window_sum(window + c, vertical.inside, horizontal.inside, row, column), n);
                value = value > act_max ? act_max : value;
                *out++ = (int8_t)(value < act_min ? act_min : value);
            }
        }
    }
}

void tflite_average_pool_s8_backward(const int8_t *error, const layer_shape_t *shape, int8_t *input_error) {
    const uint32_t channels = shape->in_c, row = shape->in_w * channels;
    memset(input_error, 0, shape_inputs(shape));
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++, error += channels) {
            int8_t *window = input_error + y * shape->stride_h * row + x * shape->stride_w * channels;
            for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
                for (uint32_t kx = 0; kx < shape->kernel_w; kx++) {
                    memcpy(window + ky * row + kx * channels, error, channels);
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
