#include "kernels/affine8_shared.h"

void affine8_requantize_shared(const int32_t *sums, uint32_t positions, uint32_t first, uint32_t channels,
                               const tflite_layer_t *shared, uint32_t step, int8_t *out) {
    const affine8_shared_t *whole = (const affine8_shared_t *)(const void *)shared;
    affine8_requantize_channels(sums, positions, first, channels, whole->layer, step, out);
}
