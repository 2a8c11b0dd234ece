#include "kernels/fpu.h"

#if KERNELS_FPU

#include "kernels/depthwise_f32.h"
#include "kernels/tflite_windows.h"

enum { CHANNELS = 8 /* at a time */ };

/* What the window of an output has inside the image: where it begins in the input and in the weights, and how many
   rows and columns of taps that are. */
typedef struct {
    const float *in, *weights;
    uint32_t rows, columns;
} window_t;

/* The outputs of `n` channels, from `first` on; `n` is a constant to the compiler. */
static inline __attribute__((always_inline)) void run_channels(const window_t *window, const layer_shape_t *shape,
                                                               uint32_t first, uint32_t n, const float *bias,
                                                               const limits_f32_t *limits, float *out) {
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

#endif
