/* The gradient of a layer whose nodes were perturbed: docs/arithmetic-zeroth-order.md, section 5, NP. */
#include "kernels/zeroth_order_gradient.h"
#include "methods/tflite8_gradient.h"

enum { UNIT = -16 }; /* exponent of the deltas */

void node_gradient(model_t *model, const sample_t *sample, uint8_t l, query_t *queries) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const graph_output_t *output = graph_output(&model->file, layer);
    const uint32_t count = tflite8_settings(model)->queries;
    const int32_t shift = node_error_shift(queries, count);
    const int8_t *clean = pass_value(model, &sample->clean, (uint8_t)(l + 1));
    int8_t *errors = model_buffer(model, TFLITE8_NODE, l);
    node_errors_s8(clean, graph_outputs(layer), output->act_min, output->act_max, queries, count, shift, errors);
    error_gradient(model, sample, l, errors, shift + UNIT);
}
