#include "kernels/dsp.h"
#include "kernels/thumb1.h"

/* Other cores: s8_input_error_cores.c. */
#if !KERNELS_DSP && !KERNELS_THUMB1

#include "kernels/fully_connected.h"

#include <string.h>

#include "kernels/weighted_rows_s8.h"

void fully_connected_s8_input_error(const int8_t *error, const int8_t *weights, uint32_t inputs, uint32_t outputs,
                                    int32_t *acc) {
    weighted_rows_t rows;
    uint32_t next = 0;
    memset(acc, 0, inputs * sizeof acc[0]);
    while (weighted_rows_take(&rows, error, &next, outputs, weights, inputs) > 0) {
        weighted_rows_add(&rows, 0, inputs, acc);
    }
}

#endif
