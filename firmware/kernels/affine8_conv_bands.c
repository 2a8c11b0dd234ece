#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if KERNELS_DSP || KERNELS_THUMB1 /* else affine8_conv2d.c, affine8_pointwise.c */

#include "kernels/affine8_shared.h"
#include "kernels/conv_bands_s8.h"

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

#endif
