#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else affine8_fully_connected_cores.c */

#include "kernels/affine8.h"
#include "kernels/affine8_rows.h"

void affine8_fully_connected(const int8_t *in, const int8_t *weights, uint32_t inputs, uint32_t outputs,
                             const affine8_layer_t *layer, int32_t *scratch, int8_t *out) {
    for (uint32_t o = 0; o < outputs; o++) {
        scratch[o] = affine8_dot(in, weights + o * inputs, layer->weight_zero, inputs);
    }
    affine8_requantize_channels(scratch, 1, 0, outputs, layer, outputs, out);
}

#endif
