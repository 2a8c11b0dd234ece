#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else affine8_conv_bands.c */

#include "kernels/affine8.h"
#include "kernels/affine8_rows.h"
#include "kernels/tflite_gradient_sums_s8.h"

enum { PATCHES = 8 /* the scratch has room for that many */ };

void affine8_conv2d(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, const affine8_layer_t *layer,
                    int8_t *scratch, int8_t *out) {
    const uint32_t taps = (uint32_t)shape->kernel_h * shape->kernel_w * shape->in_c, channels = shape->out_c;
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

#endif
