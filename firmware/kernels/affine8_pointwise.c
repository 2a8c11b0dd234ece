#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else affine8_conv_bands.c */

#include "kernels/affine8.h"
#include "kernels/affine8_rows.h"

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

#endif
