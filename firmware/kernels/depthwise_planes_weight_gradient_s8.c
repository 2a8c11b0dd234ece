#include "kernels/depthwise_planes_s8.h"

#include "kernels/tflite_plane_s8.h"
#include "kernels/tflite_windows.h"

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
