#include "arith/clip127.h"
#include "kernels/tflite_windows.h"
#include "kernels/w16a8_sums.h"

enum { PANEL = 32 /* channels whose sums lie on the stack */ };

/* A window inside the image: its first input and its first weight, of the first of some channels. */
typedef struct {
    const int8_t *in;
    const int16_t *weights;
    uint32_t rows, columns;
    uint32_t from_row, from_weights; /* elements from row to row, of the inputs and of the weights */
    uint32_t channels;               /* elements from column to column, of both */
    int32_t zero;
} window_t;

/* The sums of four channels, which fit. */
static void sum_four(const window_t *window, int32_t sum[4]) {
    const uint32_t channels = window->channels;
    const int32_t zero = window->zero;
    const int8_t *row = window->in;
    const int16_t *row_weights = window->weights;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (uint32_t i = 0; i < window->rows; i++, row += window->from_row, row_weights += window->from_weights) {
        const int8_t *in = row;
        const int16_t *weights = row_weights;
        for (uint32_t j = 0; j < window->columns; j++, in += channels, weights += channels) {
            s0 += (in[0] - zero) * weights[0];
            s1 += (in[1] - zero) * weights[1];
            s2 += (in[2] - zero) * weights[2];
            s3 += (in[3] - zero) * weights[3];
        }
    }
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
}

/* The sum of one channel. A row of a window has at most 255 taps. */
static int64_t sum_one(const window_t *window) {
    const int8_t *in = window->in;
    const int16_t *weights = window->weights;
    int64_t all = 0;
    for (uint32_t i = 0; i < window->rows; i++, in += window->from_row, weights += window->from_weights) {
        int32_t sum = 0;
        for (uint32_t j = 0; j < window->columns; j++) {
            sum += (in[j * window->channels] - window->zero) * weights[j * window->channels];
        }
        all += sum;
    }
    return all;
}

/* The sums of `n` channels with their biases, held in 32 bits. */
static void sum_panel(window_t window, uint32_t n, const int32_t *bias, int32_t *acc) {
    uint32_t c = 0;
    for (; window.rows * window.columns <= W16A8_FIT && c + 4 <= n; c += 4, window.in += 4, window.weights += 4) {
        sum_four(&window, acc + c);
        for (uint32_t i = c; i < c + 4; i++) {
            acc[i] = add_sat32(acc[i], bias[i]);
        }
    }
    for (; c < n; c++, window.in++, window.weights++) {
        const int64_t sum = sum_one(&window) + bias[c];
        acc[c] = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : (int32_t)sum;
    }
}

void w16a8_depthwise(const int8_t *in, const int16_t *weights, const layer_shape_t *shape, const w16a8_layer_t *layer,
                     int8_t *out) {
    const uint32_t channels = shape->in_c, from_row = shape->in_w * channels, from_weights = shape->kernel_w * channels;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t vertical = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const span_t horizontal = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            window_t window = {.in = in + vertical.at * from_row + horizontal.at * channels,
                               .weights = weights + vertical.before * from_weights + horizontal.before * channels,
                               .rows = vertical.inside,
                               .columns = horizontal.inside,
                               .from_row = from_row,
                               .from_weights = from_weights,
                               .channels = channels,
                               .zero = layer->input_zero};
            for (uint32_t c = 0, n; c < channels; c += n, window.in += n, window.weights += n, out += n) {
                int32_t acc[PANEL];
                n = channels - c < PANEL ? channels - c : PANEL;
                sum_panel(window, n, layer->bias + c, acc);
                w16a8_outputs(acc, n, layer, out);
            }
        }
    }
}
