#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP &&                                                                                                    \
    !KERNELS_THUMB1 /* else affine8_fully_connected_weight_gradient_dsp.c, affine8_weight_gradient_m0.c */

#include "kernels/affine8.h"
#include "kernels/affine8_rows.h"

void affine8_fully_connected_weight_gradient(const int8_t *in, const affine8_errors_t *errors, uint32_t inputs,
                                             int8_t input_zero, int32_t *gradient) {
    for (uint32_t i = 0; i < errors->count; i++) {
        const int32_t e = errors->error[i] - errors->zero;
        if (e != 0) {
            affine8_add_row(in, input_zero, e, inputs, gradient + i * inputs);
        }
    }
}

#endif
