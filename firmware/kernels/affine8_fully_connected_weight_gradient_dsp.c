#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/backward_dsp.h"

void affine8_fully_connected_weight_gradient(const int8_t *in, const affine8_errors_t *errors, uint32_t inputs,
                                             int8_t input_zero, int32_t *gradient) {
    outer_rows_t rows = {.in = in, .inputs = inputs, .zero = input_zero};
    for (uint32_t i = 0; i < errors->count; i++, gradient += inputs) {
        const int32_t e = errors->error[i] - errors->zero;
        if (e != 0) {
            outer_rows_take(&rows, gradient, e);
        }
    }
    outer_rows_finish(&rows);
}

#endif
