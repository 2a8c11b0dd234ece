#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else affine8_input_error_cores.c */

#include <string.h>

#include "kernels/affine8.h"
#include "kernels/affine8_rows.h"

void affine8_fully_connected_input_error(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                                         uint32_t inputs, int32_t *acc) {
    memset(acc, 0, inputs * sizeof acc[0]);
    for (uint32_t i = 0; i < errors->count; i++) {
        const int32_t e = errors->error[i] - errors->zero;
        if (e != 0) {
            affine8_add_row(weights + errors->kept[i] * inputs, weight_zero, e, inputs, acc);
        }
    }
}

#endif
