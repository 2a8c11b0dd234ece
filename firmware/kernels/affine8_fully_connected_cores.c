#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if KERNELS_DSP || KERNELS_THUMB1 /* else affine8_fully_connected.c */

#include "kernels/affine8.h"
#include "kernels/fully_connected.h"

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

#endif
