#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/backward_dsp.h"
#include "kernels/conv_input_error.h"

void matrix_add_input_error(const affine8_errors_t *errors, const int8_t *weights, uint32_t inputs, int32_t *acc) {
    const uint32_t bytes = inputs * (uint32_t)sizeof acc[0];
    const runs_t runs = {.fours = bytes / 16 * 16, .rest = bytes % 16, .acc = acc, .acc_end = acc + inputs};
    weighted_runs_add_all(&runs, errors, errors->error, weights, inputs);
}

#endif
