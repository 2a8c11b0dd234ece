/* The layers without weights of the format affine8: docs/arithmetic-affine8.md, sections 2 to 4. */
#include "kernels/affine8_elementwise.h"

#include <string.h>

#include "arith/float32.h"
#include "kernels/windows.h"

void affine8_observe(const int8_t *values, uint32_t n, int8_t extent[2]) {
    int8_t least = extent[0], most = extent[1];
    for (uint32_t i = 0; i < n; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    extent[0] = least;
    extent[1] = most;
}

void affine8_cast(const int8_t *in, uint32_t n, float scale, int8_t zero, float *out) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = scale * (float)(in[i] - zero);
    }
}

void affine8_gate(const int8_t *out, uint32_t n, int32_t least, int32_t most, int8_t zero, int8_t *error) {
    if (least < INT8_MIN && most > INT8_MAX) {
        return; /* no activation: all are open */
    }
    for (uint32_t i = 0; i < n; i++) {
        const bool open = out[i] > least && out[i] < most;
        error[i] = open ? error[i] : zero;
    }
}

#define ONE 0x1p14f /* the factor of the larger scale */

float affine8_common_scale(float a, float b, int32_t factors[2]) {
    const float common = a > b ? a : b;
    factors[0] = affine8_round((a / common) * ONE, false);
    factors[1] = affine8_round((b / common) * ONE, false);
    return common;
}

void affine8_add(const int8_t *a, const int8_t *b, uint32_t n, const affine8_two_t *two, int8_t *out) {
    for (uint32_t i = 0; i < n; i++) {
        const int32_t acc = (a[i] - two->a_zero) * two->a_factor + (b[i] - two->b_zero) * two->b_factor;
        const int32_t value = two->output_zero + affine8_rescale(acc, two->factor);
        out[i] = (int8_t)(value < two->least ? two->least : value > two->most ? two->most : value);
    }
}

void affine8_multiply(const int8_t *a, const int8_t *b, uint32_t positions, uint32_t channels, const affine8_two_t *two,
                      int8_t *out) {
    for (; positions > 0; positions--) {
        for (uint32_t c = 0; c < channels; c++) {
            const int32_t acc = (*a++ - two->a_zero) * (b[c] - two->b_zero);
            const int32_t value = two->output_zero + affine8_rescale(acc, two->factor);
            *out++ = (int8_t)(value < two->least ? two->least : value > two->most ? two->most : value);
        }
    }
}

/* The sum of one channel, over `h` by `w` positions that are `row` and `column` bytes apart. */
static int32_t sum_of(const int8_t *in, uint32_t h, uint32_t w, uint32_t row, uint32_t column) {
    int32_t sum = 0;
    for (uint32_t i = 0; i < h; i++) {
        for (uint32_t j = 0; j < w; j++) {
            sum += in[i * row + j * column];
        }
    }
    return sum;
}

/* floor(a / b), b > 0: C's division truncates. */
static inline int32_t divide_down(int32_t a, int32_t b) {
    return a / b - (a % b < 0);
}

void affine8_average_pool(const int8_t *in, const layer_shape_t *shape, bool floors, int8_t *out) {
    const uint32_t column = shape->in_c, row = shape->in_w * column;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t vertical = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const span_t horizontal = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            const int8_t *window = in + vertical.at * row + horizontal.at * column;
            const int32_t n = (int32_t)(vertical.inside * horizontal.inside), half = floors ? 0 : n / 2;
            for (uint32_t c = 0; c < column; c++) {
                const int32_t sum = sum_of(window + c, vertical.inside, horizontal.inside, row, column);
                *out++ = (int8_t)divide_down(sum + half, n);
            }
        }
    }
}

#define SIXTH 0x1.555556p-3f
#define SLOPE_ONE 128.0f /* the slope 1 */

static float real_of(const affine8_params_t *in, int32_t q) {
    return in->s * (float)(q - in->z);
}

void affine8_hard_swish_outputs(const affine8_params_t *in, const affine8_params_t *out, bool floors,
                                int8_t outputs[AFFINE8_VALUES]) {
    for (int32_t q = INT8_MIN; q <= INT8_MAX; q++) {
        const float x = real_of(in, q), raised = x + 3.0f, above = raised < 0.0f ? 0.0f : raised,
                    t = above > 6.0f ? 6.0f : above;
        *outputs++ = affine8_quantize((x * t) * SIXTH, out->j, out->z, floors);
    }
}

void affine8_hard_swish_slopes(const affine8_params_t *in, int16_t slopes[AFFINE8_VALUES]) {
    for (int32_t q = INT8_MIN; q <= INT8_MAX; q++) {
        const float x = real_of(in, q), twice = 2.0f * x;
        const float slope = x <= -3.0f ? 0.0f : x >= 3.0f ? SLOPE_ONE : ((twice + 3.0f) * SIXTH) * SLOPE_ONE;
        *slopes++ = (int16_t)affine8_round(slope, false);
    }
}

void affine8_look_up(const int8_t *in, uint32_t n, const int8_t outputs[AFFINE8_VALUES], int8_t *out) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = outputs[in[i] - INT8_MIN];
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

void affine8_max_pool_error(const int8_t *in, const int8_t *error, const layer_shape_t *shape, int8_t zero,
                            int8_t *input_error) {
    const uint32_t channels = shape->in_c, row = shape->in_w * channels;
    memset(input_error, zero, shape_inputs(shape));
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const uint32_t window = y * shape->stride_h * row + x * shape->stride_w * channels;
            for (uint32_t c = 0; c < channels; c++) {
                input_error[window + c + first_maximum(in + window + c, shape)] = *error++;
            }
        }
    }
}

void affine8_average_pool_error(const int8_t *error, const layer_shape_t *shape, int8_t zero, int8_t *input_error) {
    const uint32_t channels = shape->in_c, row = shape->in_w * channels;
    if (shape->out_h * shape->kernel_h != shape->in_h || shape->out_w * shape->kernel_w != shape->in_w) {
        memset(input_error, zero, shape_inputs(shape)); /* some inputs are in no window */
    }
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
