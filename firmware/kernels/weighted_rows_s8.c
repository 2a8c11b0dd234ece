#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else weighted_runs_dsp.c, terms_of_s8_m0.c */

#include "kernels/weighted_rows_s8.h"

uint32_t weighted_rows_take(weighted_rows_t *rows, const int8_t *error, uint32_t *next, uint32_t end,
                            const int8_t *weights, uint32_t stride) {
    uint32_t taken = 0;
    uint32_t o = *next;
    for (; o < end && taken < WEIGHTED_ROWS; o++) {
        if (error[o] != 0) {
            rows->error[taken] = error[o];
            rows->row[taken] = weights + o * stride;
            taken++;
        }
    }
    *next = o;
    for (uint32_t i = taken; i < WEIGHTED_ROWS; i++) {
        rows->error[i] = 0;
        rows->row[i] = weights;
    }
    return taken;
}

void weighted_rows_add(const weighted_rows_t *rows, uint32_t from, uint32_t n, int32_t *acc) {
    const int32_t e0 = rows->error[0], e1 = rows->error[1], e2 = rows->error[2], e3 = rows->error[3];
    const int8_t *w0 = rows->row[0] + from, *w1 = rows->row[1] + from, *w2 = rows->row[2] + from,
                 *w3 = rows->row[3] + from;
    for (uint32_t j = 0; j < n; j++) {
        acc[j] += e0 * w0[j] + e1 * w1[j] + e2 * w2[j] + e3 * w3[j];
    }
}

#endif
