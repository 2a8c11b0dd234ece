/* The layers with weights of the format affine8, forward: docs/arithmetic-affine8.md, section 3. */
#include "kernels/affine8.h"

#include "kernels/affine8_sums.h"
#include "kernels/conv_band_s8.h"
#include "kernels/dsp.h"
#include "kernels/fully_connected.h"
#include "kernels/requantize.h"
#include "kernels/tflite_gradient_sums_s8.h"
#include "kernels/tflite_plane_s8.h"

void affine8_fold_bias(const int32_t *bias, const int8_t *weights, int8_t weight_zero, uint32_t taps, uint32_t tap_step,
                       uint32_t channels, uint32_t channel_step, int8_t input_zero, int32_t *folded) {
    for (uint32_t o = 0; o < channels; o++) {
        const int8_t *weight = weights + o * channel_step;
        int32_t sum = 0;
        for (uint32_t t = 0; t < taps; t++, weight += tap_step) {
            sum += *weight - weight_zero;
        }
        folded[o] = (int32_t)((uint32_t)bias[o] - (uint32_t)input_zero * (uint32_t)sum);
    }
}

#if KERNELS_DSP || KERNELS_THUMB1

/* A layer as the kernels of tflite8 take it. */
typedef struct {
    tflite_layer_t shared; /* first, so that its address is that of the whole */
    const affine8_layer_t *layer;
} affine8_shared_t;

/* affine8_requantize_channels() of the layer that `shared` belongs to. */
static void affine8_requantize_shared(const int32_t *sums, uint32_t positions, uint32_t first, uint32_t channels,
                                      const tflite_layer_t *shared, uint32_t step, int8_t *out) {
    const affine8_shared_t *whole = (const affine8_shared_t *)(const void *)shared;
    affine8_requantize_channels(sums, positions, first, channels, whole->layer, step, out);
}

static inline affine8_shared_t affine8_shared(const affine8_layer_t *layer) {
    return (affine8_shared_t){.shared = {.input_zero = layer->input_zero, .requantize = affine8_requantize_shared},
                              .layer = layer};
}

void affine8_conv2d(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, const affine8_layer_t *layer,
                    int8_t *scratch, int8_t *out) {
    const affine8_shared_t whole = affine8_shared(layer);
    const conv_weights_t affine = {.at = weights, .affine = true, .zero = layer->weight_zero};
    conv_bands_s8(in, &affine, shape, &whole.shared, 0, shape->out_h, scratch, out);
}

void affine8_pointwise(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                       const affine8_layer_t *layer, int8_t *scratch, int8_t *out) {
    const affine8_shared_t whole = affine8_shared(layer);
    const conv_weights_t affine = {.at = weights, .affine = true, .zero = layer->weight_zero};
    conv_blocks_s8(in, &affine, shape, &whole.shared, scratch, out);
}

void affine8_depthwise(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                       const affine8_layer_t *layer, int8_t *scratch, int8_t *out) {
    const affine8_shared_t whole = affine8_shared(layer);
    depthwise_planes_s8(in, weights, layer->weight_zero, shape, &whole.shared, scratch, out);
}

/* The zero point of the weights takes the same from all outputs. */
void affine8_fully_connected(const int8_t *in, const int8_t *weights, uint32_t inputs, uint32_t outputs,
                             const affine8_layer_t *layer, int32_t *scratch, int8_t *out) {
    int32_t sum = 0;
    for (uint32_t i = 0; i < inputs; i++) {
        sum += in[i];
    }
    fully_connected_s8(in, weights, inputs, outputs, scratch);
    for (uint32_t o = 0; o < outputs; o++) {
        scratch[o] -= layer->weight_zero * sum;
    }
    affine8_requantize_channels(scratch, 1, 0, outputs, layer, outputs, out);
}

#else

enum { PATCHES = 8 /* the scratch has room for that many */ };

void affine8_conv2d(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, const affine8_layer_t *layer,
                    int8_t *scratch, int8_t *out) {
    const uint32_t taps = shape_taps(shape), channels = shape->out_c;
    const uint32_t positions = (uint32_t)shape->out_h * shape->out_w;
    for (uint32_t first = 0; first < positions; first += PATCHES) {
        const uint32_t n = positions - first < PATCHES ? positions - first : PATCHES;
        tflite_patches_s8(in, shape, layer->input_zero, first, n, scratch);
        for (uint32_t o = 0; o < channels; o++) {
            int32_t sums[PATCHES];
            for (uint32_t p = 0; p < n; p++) {
                sums[p] = affine8_dot(scratch + p * taps, weights + o * taps, layer->weight_zero, taps);
            }
            affine8_requantize_channels(sums, n, o, 1, layer, channels, out + first * channels + o);
        }
    }
}

void affine8_pointwise(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                       const affine8_layer_t *layer, int8_t *scratch, int8_t *out) {
    const uint32_t inputs = shape->in_c, channels = shape->out_c;
    (void)scratch;
    for (uint32_t left = (uint32_t)shape->in_h * shape->in_w; left > 0; left--, in += inputs, out += channels) {
        for (uint32_t o = 0; o < channels; o++) {
            const int32_t sum = affine8_dot(in, weights + o * inputs, layer->weight_zero, inputs);
            affine8_requantize_channels(&sum, 1, o, 1, layer, channels, out + o);
        }
    }
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
    const uint32_t height = tflite_plane_under(shape->out_h, shape->stride_h, shape->kernel_h),
                   width = tflite_plane_under(shape->out_w, shape->stride_w, shape->kernel_w);
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

void affine8_fully_connected(const int8_t *in, const int8_t *weights, uint32_t inputs, uint32_t outputs,
                             const affine8_layer_t *layer, int32_t *scratch, int8_t *out) {
    for (uint32_t o = 0; o < outputs; o++) {
        scratch[o] = affine8_dot(in, weights + o * inputs, layer->weight_zero, inputs);
    }
    affine8_requantize_channels(scratch, 1, 0, outputs, layer, outputs, out);
}

#endif
