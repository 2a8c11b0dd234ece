#include "kernels/fully_connected.h"

#include "kernels/tflite_gradient_sums_s8.h"

void tflite_fully_connected_s8_weight_gradient(const int8_t *in, const int8_t *error, uint32_t inputs, uint32_t outputs,
                                               int8_t input_zero, int32_t *gradient) {
    fully_connected_s8_weight_gradient(in, error, inputs, outputs, 0, gradient);
    const affine8_errors_t all = {.error = error, .count = outputs};
    tflite_unfold_gradient(&all, 1, inputs, input_zero, gradient);
}
