#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else affine8_depthwise_cores.c */

#include "kernels/affine8.h"
#include "kernels/tflite_plane_s8.h"

static uint32_t padded(uint32_t outputs, uint32_t stride, uint32_t kernel) {
    return (outputs - 1) * stride + kernel;
}

static int32_t window_sum(const int8_t *plane, const int16_t *kernel, const plane_window_t *window) {
    int32_t sum = 0;
    for (uint32_t ky = 0; ky < window->kernel_h; ky++) {
        for (uint32_t kx = 0; kx < window->kernel_w; kx++) {
            sum += plane[kx] * *kernel++;
        }
        plane += window->width;
    }
    return sum;
}

void affine8_depthwise(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                       const affine8_layer_t *layer, int8_t *scratch, int8_t *out) {
    const uint32_t channels = shape->in_c, taps = (uint32_t)shape->kernel_h * shape->kernel_w;
    const uint32_t height = padded(shape->out_h, shape->stride_h, shape->kernel_h),
                   width = padded(shape->out_w, shape->stride_w, shape->kernel_w);
    const plane_axis_t vertical = tflite_plane_axis(-shape->padding_h, 1, height, shape->in_h);
    const plane_axis_t horizontal = tflite_plane_axis(-shape->padding_w, 1, width, shape->in_w);
    const plane_window_t window = {.width = width, .kernel_h = shape->kernel_h, .kernel_w = shape->kernel_w};
    int16_t *kernel = (int16_t *)(void *)scratch; /* weights without their zero point */
    int8_t *plane = (int8_t *)(kernel + taps);
    tflite_plane_fill(&vertical, &horizontal, layer->input_zero, plane);
    for (uint32_t c = 0; c < channels; c++) {
        tflite_plane_take(in + c, channels, &vertical, &horizontal, plane);
        for (uint32_t t = 0; t < taps; t++) {
            kernel[t] = (int16_t)(weights[t * channels + c] - layer->weight_zero);
        }
        int8_t *to = out + c;
        for (uint32_t y = 0; y < shape->out_h; y++) {
            for (uint32_t x = 0; x < shape->out_w; x++, to += channels) {
                const int8_t *from = plane + y * shape->stride_h * width + x * shape->stride_w;
                const int32_t sum = window_sum(from, kernel, &window);
                affine8_requantize_channels(&sum, 1, c, 1, layer, channels, to);
            }
        }
    }
}

#endif
