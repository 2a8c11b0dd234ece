#include "kernels/tflite_windows.h"
#include "kernels/w16a8_sums.h"

/* A window inside the image: its first input and its first weight, for one channel. */
typedef struct {
    const int8_t *in;
    const int16_t *weights;
    uint32_t rows, columns;
    uint32_t from_row, from_weights; /* elements from row to row, of the inputs and of the weights */
    uint32_t channels;               /* elements from column to column, of both */
} window_t;

/* A row of a window has at most 255 taps. */
static int64_t sum_of(const window_t *window, int32_t zero) {
    const int8_t *in = window->in;
    const int16_t *weights = window->weights;
    int64_t all = 0;
    for (uint32_t i = 0; i < window->rows; i++) {
        int32_t sum = 0;
        for (uint32_t j = 0; j < window->columns; j++) {
            sum += (in[j * window->channels] - zero) * weights[j * window->channels];
        }
        all += sum;
        in += window->from_row;
        weights += window->from_weights;
    }
    return all;
}

void w16a8_depthwise(const int8_t *in, const int16_t *weights, const layer_shape_t *shape, const w16a8_layer_t *layer,
                     int8_t *out) {
    const uint32_t channels = shape->in_c, from_row = shape->in_w * channels, from_weights = shape->kernel_w * channels;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t vertical = span_of(y, shape->stride, shape->padding, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const span_t horizontal = span_of(x, shape->stride, shape->padding, shape->kernel_w, shape->in_w);
            window_t window = {.in = in + vertical.at * from_row + horizontal.at * channels,
                               .weights = weights + vertical.before * from_weights + horizontal.before * channels,
                               .rows = vertical.inside,
                               .columns = horizontal.inside,
                               .from_row = from_row,
                               .from_weights = from_weights,
                               .channels = channels};
            for (uint32_t c = 0; c < channels; c++, window.in++, window.weights++) {
                *out++ = w16a8_output(sum_of(&window, layer->input_zero) + layer->bias[c], layer);
            }
        }
    }
}
