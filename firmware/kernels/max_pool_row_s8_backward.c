#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else max_pool_row_s8_backward_dsp.c or max_pool_row_s8_backward_m0.c */

#include "kernels/max_pool_row_s8_backward.h"

void max_pool_row_s8_backward(const int8_t *in, uint32_t windows, uint32_t column, uint32_t row, const int8_t *error,
                              int8_t *input_error) {
    for (uint32_t w = 0; w < windows;
         w++, in += column, input_error += column) { /* and as much again by the channels */
        for (uint32_t c = 0; c < column; c++, in++, input_error++) {
            input_error[first_maximum(in, 2, column, row)] = *error++;
        }
    }
}

#endif
