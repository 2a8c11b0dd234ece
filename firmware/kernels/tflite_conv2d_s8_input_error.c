#include "kernels/convolution.h"

#include <string.h>

#include "kernels/fully_connected.h"
#include "kernels/tflite_windows.h"

/* Add what a window has inside the image. */
static void add_window(const int32_t *spread, const layer_shape_t *shape, span_t vertical, span_t horizontal,
                       int32_t *acc) {
    const uint32_t in_c = shape->in_c, n = horizontal.inside * in_c;
    spread += (vertical.before * shape->kernel_w + horizontal.before) * in_c;
    acc += (vertical.at * shape->in_w + horizontal.at) * in_c;
    for (uint32_t i = 0; i < vertical.inside; i++) {
        for (uint32_t j = 0; j < n; j++) {
            acc[j] += spread[j];
        }
        spread += shape->kernel_w * in_c;
        acc += shape->in_w * in_c;
    }
}

/* For its window, a position is a fully connected layer. */
void tflite_conv2d_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape,
                                  int32_t *scratch, int32_t *acc) {
    const uint32_t taps = (uint32_t)shape->kernel_h * shape->kernel_w * shape->in_c;
    memset(acc, 0, shape_inputs(shape) * sizeof acc[0]);
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t vertical = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const span_t horizontal = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            fully_connected_s8_input_error(error, weights, taps, shape->out_c, scratch);
            add_window(scratch, shape, vertical, horizontal, acc);
            error += shape->out_c;
        }
    }
}
