#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/backward_dsp.h"
#include "kernels/tflite_gradient_sums_s8.h"

/* The inputs of four positions whose errors are not 0 meet one row of the gradient at a time. */
static inline void add_sums(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *error, int32_t zero,
                            uint32_t channels, uint32_t taps, int32_t *gradient) {
    const uint32_t word = sizeof *gradient;
    for (uint32_t o = 0; o < channels; o++, gradient += taps) {
        const runs_t runs = {
            .fours = taps / 4 * 4 * word, .rest = taps % 4 * word, .acc = gradient, .acc_end = gradient + taps};
        const int8_t *row = in, *e = error + o;
        weighted_rows_t rows;
        uint32_t count = 0;
        for (const int8_t *const end = e + positions * channels; e != end; e += channels, row += step) {
            if (*e != zero) {
                count = weighted_runs_take(&runs, &rows, count, row, *e - zero);
            }
        }
        weighted_runs_finish(&runs, &rows, count);
    }
}

void tflite_gradient_sums_s8(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *error,
                             int8_t error_zero, uint32_t channels, uint32_t taps, int32_t *gradient) {
    if (error_zero == 0) { /* as a constant to the compiler */
        add_sums(in, step, positions, error, 0, channels, taps, gradient);
    } else {
        add_sums(in, step, positions, error, error_zero, channels, taps, gradient);
    }
}

#endif
