#include "kernels/w16a8_sums.h"
#include "kernels/w16a8_widen.h"

uint64_t w16a8_fully_connected_scratch(uint32_t inputs) {
    return sizeof(int16_t) * (uint64_t)w16a8_vector(inputs);
}

void w16a8_fully_connected(const int8_t *in, const int16_t *weights, uint32_t inputs, uint32_t outputs,
                           const w16a8_layer_t *layer, int16_t *scratch, int8_t *out) {
    w16a8_widen(in, inputs, layer->input_zero, scratch);
    w16a8_rows(scratch, 1, weights, inputs, outputs, layer, out);
}
