/* depthwise of the formats tflite8 and affine8, channel by channel: docs/arithmetic-tflite.md, sections 3 and 5. */
#include "kernels/tflite_plane_s8.h"

#include <string.h>

#include "kernels/core.h"
#include "kernels/windows.h"

void depthwise_planes_s8(const int8_t *in, const int8_t *weights, int8_t weight_zero, const layer_shape_t *shape,
                         const tflite_layer_t *layer, int8_t *scratch, int8_t *out) {
    const uint32_t channels = shape->in_c, taps = (uint32_t)shape->kernel_h * shape->kernel_w;
    const uint32_t out_h = shape->out_h, out_w = shape->out_w;
    const uint32_t height = tflite_plane_under(out_h, shape->stride_h, shape->kernel_h),
                   width = tflite_plane_under(out_w, shape->stride_w, shape->kernel_w);
    const plane_axis_t vertical = tflite_plane_axis(-shape->padding_h, 1, height, shape->in_h);
    const plane_axis_t horizontal = tflite_plane_axis(-shape->padding_w, 1, width, shape->in_w);
    const plane_window_t window = {.width = width,
                                   .kernel_h = shape->kernel_h,
                                   .kernel_w = shape->kernel_w,
                                   .stride_h = shape->stride_h,
                                   .stride_w = shape->stride_w,
                                   .zero = weight_zero};
    int8_t *kernel = scratch, *plane = scratch + taps;
    tflite_plane_fill(&vertical, &horizontal, layer->input_zero, plane);
    for (uint32_t c = 0; c < channels; c++) {
        tflite_plane_take(in + c, channels, &vertical, &horizontal, plane);
        for (uint32_t t = 0; t < taps; t++) {
            kernel[t] = weights[t * channels + c];
        }
        plane_block_t block = tflite_first_block(out_h, out_w);
        for (; block.rows > 0; block = tflite_next_block(&block, out_h, out_w)) {
            int32_t sums[TFLITE_PLANE_SUMS];
            int8_t *to = out + (block.y * out_w + block.x) * channels + c;
            tflite_plane_sums_s8(plane, kernel, &window, &block, sums);
            layer->requantize(sums, block.rows * block.columns, c, 1, layer, channels, to);
        }
    }
}

/* Within a phase the error of the input is the phase's taps, turned around, slid over the plane of the errors. */

/* Returns the sum of the weights. */
static int32_t take_turned(const int8_t *weights, const layer_shape_t *shape, const phase_t *vertical,
                           const phase_t *horizontal, int8_t *kernel) {
    int32_t sum = 0;
    for (uint32_t i = vertical->taps; i-- > 0;) {
        for (uint32_t j = horizontal->taps; j-- > 0;) {
            const uint32_t ky = vertical->first + i * shape->stride_h, kx = horizontal->first + j * shape->stride_w;
            const int8_t weight = weights[(ky * shape->kernel_w + kx) * shape->in_c];
            sum += weight;
            *kernel++ = weight;
        }
    }
    return sum;
}

/* The zero point of the errors leaves every input with the same `offset`, since the padding of the plane is the zero
   point too. */
static void store_channel(const int8_t *plane, const int8_t *kernel, int8_t weight_zero, const layer_shape_t *shape,
                          const phase_t *vertical, const phase_t *horizontal, int32_t offset, int32_t *acc) {
    const uint32_t h = vertical->inputs, w = horizontal->inputs, in_c = shape->in_c, step = shape->stride_w * in_c,
                   from_row = shape->stride_h * (shape->in_w * in_c);
    const plane_window_t window = {.width = w + horizontal->taps - 1,
                                   .kernel_h = vertical->taps,
                                   .kernel_w = horizontal->taps,
                                   .stride_h = 1,
                                   .stride_w = 1,
                                   .zero = weight_zero};
    acc += (vertical->input * shape->in_w + horizontal->input) * in_c;
    for (plane_block_t block = tflite_first_block(h, w); block.rows > 0; block = tflite_next_block(&block, h, w)) {
        int32_t sums[TFLITE_PLANE_SUMS];
        const int32_t *sum = sums;
        tflite_plane_sums_s8(plane, kernel, &window, &block, sums);
        int32_t *row = acc + block.y * from_row + block.x * step;
        for (uint32_t i = 0; i < block.rows; i++, row += from_row) {
            int32_t *to = row;
            for (const int32_t *const end = sum + block.columns; sum != end; to += step) {
                *to = *sum++ - offset;
            }
        }
    }
}

static void spread_phase(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                         const layer_shape_t *shape, const phase_t *vertical, const phase_t *horizontal,
                         int8_t *scratch, int32_t *acc) {
    const uint32_t taps = vertical->taps * horizontal->taps;
    const plane_axis_t rows = tflite_plane_axis((int32_t)(vertical->output - (vertical->taps - 1)), 1,
                                                vertical->inputs + vertical->taps - 1, shape->out_h);
    const plane_axis_t columns = tflite_plane_axis((int32_t)(horizontal->output - (horizontal->taps - 1)), 1,
                                                   horizontal->inputs + horizontal->taps - 1, shape->out_w);
    int8_t *kernel = scratch, *plane = scratch + taps;
    tflite_plane_fill(&rows, &columns, errors->zero, plane);
    for (uint32_t i = 0; i < errors->count; i++) {
        const uint32_t c = depthwise_channel(errors, i);
        const int32_t sum = take_turned(weights + c, shape, vertical, horizontal, kernel);
        const int32_t offset = errors->zero * (sum - weight_zero * (int32_t)taps);
        tflite_plane_take(errors->error + c, shape->in_c, &rows, &columns, plane);
        store_channel(plane, kernel, weight_zero, shape, vertical, horizontal, offset, acc + c);
    }
}

void depthwise_planes_input_error_s8(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                                     const layer_shape_t *shape, int8_t *scratch, int32_t *acc) {
    memset(acc, 0, shape_inputs(shape) * sizeof acc[0]); /* of the positions that no window sees */
    for (uint32_t y = 0; y < shape->stride_h && y < shape->kernel_h; y++) {
        const phase_t vertical = phase_of(y, shape->kernel_h, shape->stride_h, shape->padding_h, shape->in_h);
        for (uint32_t x = 0; x < shape->stride_w && x < shape->kernel_w; x++) {
            const phase_t horizontal = phase_of(x, shape->kernel_w, shape->stride_w, shape->padding_w, shape->in_w);
            if (vertical.inputs > 0 && horizontal.inputs > 0) {
                spread_phase(errors, weights, weight_zero, shape, &vertical, &horizontal, scratch, acc);
            }
        }
    }
}

/* Within a phase the gradient is the plane of the errors slid over the plane of the inputs. */

/* The input's zero point leaves every tap with the same `offset`, since the padding of the plane is the
   zero point too. `step`: from tap to tap of the gradient. */
static void add_channel(const int8_t *plane, const int8_t *errors, int8_t error_zero, const layer_shape_t *shape,
                        const phase_t *vertical, const phase_t *horizontal, uint32_t offset, uint32_t step,
                        int32_t *gradient) {
    const plane_window_t window = {.width = shape->out_w + horizontal->taps - 1,
                                   .kernel_h = shape->out_h,
                                   .kernel_w = shape->out_w,
                                   .stride_h = 1,
                                   .stride_w = 1,
                                   .zero = error_zero};
    const uint32_t h = vertical->taps, w = horizontal->taps, next = shape->stride_w * step;
    for (plane_block_t block = tflite_first_block(h, w); block.rows > 0; block = tflite_next_block(&block, h, w)) {
        int32_t sums[TFLITE_PLANE_SUMS];
        const int32_t *sum = sums;
        tflite_plane_sums_s8(plane, errors, &window, &block, sums);
        for (uint32_t i = block.y; i < block.y + block.rows; i++) {
            const uint32_t ky = vertical->first + i * shape->stride_h,
                           kx = horizontal->first + block.x * shape->stride_w;
            int32_t *element = gradient + (ky * shape->kernel_w + kx) * step;
            for (const int32_t *const end = sum + block.columns; sum != end; element += next) {
                *element = (int32_t)((uint32_t)*element + (uint32_t)*sum++ - offset);
            }
        }
    }
}

static void add_phase(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape, int8_t input_zero,
                      const phase_t *vertical, const phase_t *horizontal, int8_t *scratch, int32_t *gradient) {
    const uint32_t channels = shape->in_c, positions = (uint32_t)shape->out_h * shape->out_w;
    const plane_axis_t rows = tflite_plane_axis((int32_t)vertical->first - shape->padding_h, shape->stride_h,
                                                shape->out_h + vertical->taps - 1, shape->in_h);
    const plane_axis_t columns = tflite_plane_axis((int32_t)horizontal->first - shape->padding_w, shape->stride_w,
                                                   shape->out_w + horizontal->taps - 1, shape->in_w);
    int8_t *own = scratch, *plane = scratch + positions;
    tflite_plane_fill(&rows, &columns, input_zero, plane);
    for (uint32_t i = 0; i < errors->count; i++) {
        const uint32_t c = depthwise_channel(errors, i);
        const int8_t *const error = errors->error + c;
        int32_t sum = -errors->zero * (int32_t)positions;
        for (uint32_t p = 0; p < positions; p++) {
            own[p] = error[p * channels];
            sum += own[p];
        }
        tflite_plane_take(in + c, channels, &rows, &columns, plane);
        add_channel(plane, own, errors->zero, shape, vertical, horizontal, (uint32_t)input_zero * (uint32_t)sum,
                    errors->count, gradient + i);
    }
}

void depthwise_planes_weight_gradient_s8(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape,
                                         int8_t input_zero, int8_t *scratch, int32_t *gradient) {
    for (uint32_t y = 0; y < shape->stride_h && y < shape->kernel_h; y++) {
        const phase_t vertical = phase_of(y, shape->kernel_h, shape->stride_h, shape->padding_h, shape->in_h);
        for (uint32_t x = 0; x < shape->stride_w && x < shape->kernel_w; x++) {
            const phase_t horizontal = phase_of(x, shape->kernel_w, shape->stride_w, shape->padding_w, shape->in_w);
            add_phase(in, errors, shape, input_zero, &vertical, &horizontal, scratch, gradient);
        }
    }
}
