/* depthwise in binary32: docs/arithmetic-float32.md, sections 3 and 5. */
#include "kernels/layers_f32.h"

#include <string.h>

#include "kernels/core.h"
#include "kernels/windows.h"

#if KERNELS_FPU

enum { CHANNELS = 8 /* at a time */ };

/* What the window of an output has inside the image: where it begins in the input and in the weights, and how many
   rows and columns of taps that are. */
typedef struct {
    const float *in, *weights;
    uint32_t rows, columns;
} window_t;

/* The outputs of `n` channels, from `first` on; `n` is a constant to the compiler. */
INLINED void run_channels(const window_t *window, const layer_shape_t *shape, uint32_t first, uint32_t n,
                          const float *bias, const limits_f32_t *limits, float *out) {
    const uint32_t channels = shape->in_c;
    float sum[CHANNELS] = {0.0f};
    for (uint32_t i = 0; i < window->rows; i++) {
        const float *x = window->in + i * shape->in_w * channels + first;
        const float *w = window->weights + i * shape->kernel_w * channels + first;
        for (uint32_t j = window->columns; j > 0; j--, x += channels, w += channels) {
            for (uint32_t c = 0; c < n; c++) {
                sum[c] = add_product_f32(sum[c], w[c], x[c]);
            }
        }
    }
    for (uint32_t c = 0; c < n; c++) {
        out[first + c] = clamp_f32(sum[c] + bias[first + c], limits->least, limits->most);
    }
}

static void run_window(const window_t *window, const layer_shape_t *shape, const float *bias,
                       const limits_f32_t *limits, float *out) {
    uint32_t c = 0;
    for (; c + CHANNELS <= shape->in_c; c += CHANNELS) {
        run_channels(window, shape, c, CHANNELS, bias, limits, out);
    }
    for (; c < shape->in_c; c++) {
        run_channels(window, shape, c, 1, bias, limits, out);
    }
}

void depthwise_f32(const float *in, const float *weights, const float *bias, const layer_shape_t *shape,
                   const limits_f32_t *limits, float *out) {
    const uint32_t channels = shape->in_c;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t rows = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++, out += channels) {
            const span_t columns = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            const window_t window = {.in = in + (rows.at * shape->in_w + columns.at) * channels,
                                     .weights = weights + (rows.before * shape->kernel_w + columns.before) * channels,
                                     .rows = rows.inside,
                                     .columns = columns.inside};
            run_window(&window, shape, bias, limits, out);
        }
    }
}

#else

/* The products of one channel of a window, from the first position and the first tap inside the image. */
static float sum_window(const float *in, const float *weights, const layer_shape_t *shape, uint32_t rows,
                        uint32_t columns) {
    const uint32_t channels = shape->in_c;
    float sum = 0.0f;
    for (uint32_t i = 0; i < rows; i++) {
        for (uint32_t j = 0; j < columns; j++) {
            sum = add_product_f32(sum, weights[(i * shape->kernel_w + j) * channels],
                                  in[(i * shape->in_w + j) * channels]);
        }
    }
    return sum;
}

void depthwise_f32(const float *in, const float *weights, const float *bias, const layer_shape_t *shape,
                   const limits_f32_t *limits, float *out) {
    const uint32_t channels = shape->in_c;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t rows = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const span_t columns = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            const float *from = in + (rows.at * shape->in_w + columns.at) * channels;
            const float *tap = weights + (rows.before * shape->kernel_w + columns.before) * channels;
            for (uint32_t c = 0; c < channels; c++) {
                const float sum = sum_window(from + c, tap + c, shape, rows.inside, columns.inside);
                *out++ = clamp_f32(sum + bias[c], limits->least, limits->most);
            }
        }
    }
}

#endif

/* The error of one channel of the input at (y, x), from outputs of out_c channels. */
static float sum_taps(const float *error, const float *weights, const layer_shape_t *shape, uint32_t y, uint32_t x) {
    const uint32_t channels = shape->in_c, kept = shape->out_c;
    float sum = 0.0f;
    for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
        const uint32_t row = output_of_tap(y, ky, shape->stride_h, shape->padding_h, shape->out_h);
        for (uint32_t kx = 0; kx < shape->kernel_w && row != NO_OUTPUT; kx++) {
            const uint32_t column = output_of_tap(x, kx, shape->stride_w, shape->padding_w, shape->out_w);
            if (column != NO_OUTPUT) {
                sum = add_product_f32(sum, weights[(ky * shape->kernel_w + kx) * channels],
                                      error[(row * shape->out_w + column) * kept]);
            }
        }
    }
    return sum;
}

/* Channels that are not kept get an error of 0, which is no change of a further one. */
void depthwise_f32_input_error(const float *error, const kept_f32_t *kept, const float *weights,
                               const layer_shape_t *shape, bool further, float *input_error) {
    layer_shape_t packed = *shape;
    packed.out_c = (uint16_t)kept->count;
    if (kept->list != NULL && !further) {
        memset(input_error, 0, shape_inputs(shape) * sizeof *input_error);
    }
    for (uint32_t y = 0; y < shape->in_h; y++) {
        for (uint32_t x = 0; x < shape->in_w; x++, input_error += shape->in_c) {
            for (uint32_t i = 0; i < kept->count; i++) {
                const uint32_t c = kept->list == NULL ? i : kept->list[i];
                give_error_f32(&input_error[c], sum_taps(error + i, weights + c, &packed, y, x), further);
            }
        }
    }
}

/* The gradient of one channel of the tap at (ky, kx). */
static float sum_outputs(const float *in, const float *error, const layer_shape_t *shape, const tap_outputs_t *rows,
                         const tap_outputs_t *columns) {
    const uint32_t channels = shape->in_c;
    float sum = 0.0f;
    for (uint32_t y = rows->first; y < rows->end; y++) {
        const uint32_t row = rows->input + (y - rows->first) * shape->stride_h;
        for (uint32_t x = columns->first; x < columns->end; x++) {
            const uint32_t column = columns->input + (x - columns->first) * shape->stride_w;
            sum = add_product_f32(sum, in[(row * shape->in_w + column) * channels],
                                  error[(y * shape->out_w + x) * channels]);
        }
    }
    return sum;
}

void depthwise_f32_weight_gradient(const float *in, const float *error, const layer_shape_t *shape, float *gradient) {
    for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
        const tap_outputs_t rows = outputs_of_tap(ky, shape->stride_h, shape->padding_h, shape->in_h, shape->out_h);
        for (uint32_t kx = 0; kx < shape->kernel_w; kx++) {
            const tap_outputs_t columns =
                outputs_of_tap(kx, shape->stride_w, shape->padding_w, shape->in_w, shape->out_w);
            for (uint32_t c = 0; c < shape->in_c; c++, gradient++) {
                *gradient = *gradient + sum_outputs(in + c, error + c, shape, &rows, &columns);
            }
        }
    }
}
