#include "kernels/depthwise_planes_s8.h"

#include "kernels/tflite_plane_s8.h"

static uint32_t padded(uint32_t outputs, uint32_t stride, uint32_t kernel) {
    return (outputs - 1) * stride + kernel;
}

void depthwise_planes_s8(const int8_t *in, const int8_t *weights, int8_t weight_zero, const layer_shape_t *shape,
                         const tflite_layer_t *layer, int8_t *scratch, int8_t *out) {
    const uint32_t channels = shape->in_c, taps = (uint32_t)shape->kernel_h * shape->kernel_w;
    const uint32_t out_h = shape->out_h, out_w = shape->out_w;
    const uint32_t height = padded(out_h, shape->stride_h, shape->kernel_h),
                   width = padded(out_w, shape->stride_w, shape->kernel_w);
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
