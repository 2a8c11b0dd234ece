#include "kernels/convolution.h"

#include <string.h>

#include "kernels/tflite_plane_s8.h"
#include "kernels/tflite_windows.h"

/* Within a phase the error of the input is the phase's taps, turned around, slid over the plane of the errors. */

static void take_turned(const int8_t *weights, const layer_shape_t *shape, const phase_t *vertical,
                        const phase_t *horizontal, int8_t *kernel) {
    for (uint32_t i = vertical->taps; i-- > 0;) {
        for (uint32_t j = horizontal->taps; j-- > 0;) {
            const uint32_t ky = vertical->first + i * shape->stride, kx = horizontal->first + j * shape->stride;
            *kernel++ = weights[(ky * shape->kernel_w + kx) * shape->in_c];
        }
    }
}

static void store_channel(const int8_t *plane, const int8_t *kernel, const layer_shape_t *shape,
                          const phase_t *vertical, const phase_t *horizontal, int32_t *acc) {
    const uint32_t h = vertical->inputs, w = horizontal->inputs, stride = shape->stride;
    const plane_window_t window = {
        .width = w + horizontal->taps - 1, .kernel_h = vertical->taps, .kernel_w = horizontal->taps, .stride = 1};
    for (plane_block_t block = tflite_first_block(h, w); block.rows > 0; block = tflite_next_block(&block, h, w)) {
        int32_t sums[TFLITE_PLANE_SUMS];
        const int32_t *sum = sums;
        tflite_plane_sums_s8(plane, kernel, &window, &block, sums);
        for (uint32_t i = block.y; i < block.y + block.rows; i++) {
            for (uint32_t j = block.x; j < block.x + block.columns; j++) {
                const uint32_t position = (vertical->input + i * stride) * shape->in_w + horizontal->input + j * stride;
                acc[position * shape->in_c] = *sum++;
            }
        }
    }
}

static void spread_phase(const int8_t *error, const int8_t *weights, const layer_shape_t *shape,
                         const phase_t *vertical, const phase_t *horizontal, int8_t *scratch, int32_t *acc) {
    const uint32_t channels = shape->in_c;
    const plane_axis_t rows = tflite_plane_axis((int32_t)(vertical->output - (vertical->taps - 1)), 1,
                                                vertical->inputs + vertical->taps - 1, shape->out_h);
    const plane_axis_t columns = tflite_plane_axis((int32_t)(horizontal->output - (horizontal->taps - 1)), 1,
                                                   horizontal->inputs + horizontal->taps - 1, shape->out_w);
    int8_t *kernel = scratch, *plane = scratch + vertical->taps * horizontal->taps;
    tflite_plane_fill(&rows, &columns, 0, plane);
    for (uint32_t c = 0; c < channels; c++) {
        take_turned(weights + c, shape, vertical, horizontal, kernel);
        tflite_plane_take(error + c, channels, &rows, &columns, plane);
        store_channel(plane, kernel, shape, vertical, horizontal, acc + c);
    }
}

void tflite_depthwise_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape,
                                     int8_t *scratch, int32_t *acc) {
    memset(acc, 0, shape_inputs(shape) * sizeof acc[0]); /* of the positions that no window sees */
    for (uint32_t y = 0; y < shape->stride && y < shape->kernel_h; y++) {
        const phase_t vertical = phase_of(y, shape->kernel_h, shape->stride, shape->padding, shape->in_h);
        for (uint32_t x = 0; x < shape->stride && x < shape->kernel_w; x++) {
            const phase_t horizontal = phase_of(x, shape->kernel_w, shape->stride, shape->padding, shape->in_w);
            if (vertical.inputs > 0 && horizontal.inputs > 0) {
                spread_phase(error, weights, shape, &vertical, &horizontal, scratch, acc);
            }
        }
    }
}
