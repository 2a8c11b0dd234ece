/* The layers with weights of the format tflite8, forward and backward: docs/arithmetic-tflite.md, sections 3 and 5. */
#include "kernels/convolution.h"

#include <string.h>

#include "kernels/conv_band_s8.h"
#include "kernels/fully_connected.h"
#include "kernels/tflite_gradient_sums_s8.h"
#include "kernels/tflite_plane_s8.h"
#include "kernels/windows.h"

void tflite_conv2d_rows_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                           const tflite_layer_t *layer, uint32_t first, uint32_t count, int8_t *scratch, int8_t *out) {
    const conv_weights_t plain = {.at = weights};
    conv_bands_s8(in, &plain, shape, layer, first, count, scratch, out);
}

void tflite_conv2d_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, const tflite_layer_t *layer,
                      int8_t *scratch, int8_t *out) {
    tflite_conv2d_rows_s8(in, weights, shape, layer, 0, shape->out_h, scratch, out);
}

void tflite_pointwise_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                         const tflite_layer_t *layer, int8_t *scratch, int8_t *out) {
    const conv_weights_t plain = {.at = weights};
    conv_blocks_s8(in, &plain, shape, layer, scratch, out);
}

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
    const uint32_t taps = shape_taps(shape);
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

void tflite_pointwise_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape,
                                     int32_t *acc) {
    for (uint32_t left = (uint32_t)shape->in_h * shape->in_w; left > 0; left--) {
        fully_connected_s8_input_error(error, weights, shape->in_c, shape->out_c, acc);
        error += shape->out_c;
        acc += shape->in_c;
    }
}

void tflite_conv2d_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape,
                                      int8_t input_zero, int8_t *scratch, int32_t *gradient) {
    const affine8_errors_t all = {.error = error, .count = shape->out_c};
    tflite_patches_gradient_s8(in, &all, shape, input_zero, scratch, gradient);
}

void tflite_pointwise_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape,
                                         int8_t input_zero, int32_t *gradient) {
    const uint32_t positions = (uint32_t)shape->in_h * shape->in_w, channels = shape->out_c, taps = shape->in_c;
    const affine8_errors_t all = {.error = error, .count = channels};
    tflite_gradient_sums_s8(in, taps, positions, error, 0, channels, taps, gradient);
    tflite_unfold_gradient(&all, positions, taps, input_zero, gradient);
}

void tflite_depthwise_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                         const tflite_layer_t *layer, int8_t *scratch, int8_t *out) {
    depthwise_planes_s8(in, weights, 0, shape, layer, scratch, out);
}

void tflite_depthwise_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape,
                                     int8_t *scratch, int32_t *acc) {
    const affine8_errors_t all = {.error = error, .count = shape->in_c};
    depthwise_planes_input_error_s8(&all, weights, 0, shape, scratch, acc);
}

void tflite_depthwise_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape,
                                         int8_t input_zero, int8_t *scratch, int32_t *gradient) {
    const affine8_errors_t all = {.error = error, .count = shape->in_c};
    depthwise_planes_weight_gradient_s8(in, &all, shape, input_zero, scratch, gradient);
}

void tflite_fully_connected_s8(const int8_t *in, const int8_t *weights, uint32_t inputs, uint32_t outputs,
                               const tflite_layer_t *layer, int32_t *acc, int8_t *out) {
    fully_connected_s8(in, weights, inputs, outputs, acc);
    layer->requantize(acc, 1, 0, outputs, layer, outputs, out);
}

void tflite_fully_connected_s8_weight_gradient(const int8_t *in, const int8_t *error, uint32_t inputs, uint32_t outputs,
                                               int8_t input_zero, int32_t *gradient) {
    fully_connected_s8_weight_gradient(in, error, inputs, outputs, 0, gradient);
    const affine8_errors_t all = {.error = error, .count = outputs};
    tflite_unfold_gradient(&all, 1, inputs, input_zero, gradient);
}
