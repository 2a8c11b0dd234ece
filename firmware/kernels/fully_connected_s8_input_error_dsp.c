#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/backward_dsp.h"
#include "kernels/fully_connected.h"

void fully_connected_s8_input_error(const int8_t *error, const int8_t *weights, uint32_t inputs, uint32_t outputs,
                                    int32_t *acc) {
    memset(acc, 0, inputs * sizeof acc[0]);
    const uint32_t bytes = inputs * (uint32_t)sizeof acc[0];
    const runs_t runs = {.fours = bytes / 16 * 16, .rest = bytes % 16, .acc = acc, .acc_end = acc + inputs};
    weighted_runs_add_all(&runs, error, outputs, weights, inputs);
}

#endif
