#include "kernels/error_sums_s8.h"
#include "kernels/tflite_gradient_sums_s8.h"

static inline int32_t less(int32_t value, uint32_t offset) {
    return (int32_t)((uint32_t)value - offset);
}

/* By fours, since the compiler unrolls no loop of unknown length. */
static void subtract(int32_t *gradient, uint32_t taps, uint32_t offset) {
    const int32_t *const end = gradient + taps;
    for (const int32_t *const fours = gradient + taps / 4 * 4; gradient != fours; gradient += 4) {
        const int32_t a = gradient[0], b = gradient[1], c = gradient[2], d = gradient[3];
        gradient[0] = less(a, offset);
        gradient[1] = less(b, offset);
        gradient[2] = less(c, offset);
        gradient[3] = less(d, offset);
    }
    for (; gradient != end; gradient++) {
        *gradient = less(*gradient, offset);
    }
}

/* Channels first..first + n - 1, at most ERROR_SUMS. Where there are so many, all are summed up at once. */
static void sum_channels(const affine8_errors_t *errors, uint32_t positions, uint32_t first, uint32_t n,
                         int32_t sums[ERROR_SUMS]) {
    const int8_t *const error = errors->error + first;
    if (n == ERROR_SUMS) {
        error_sums_s8(error, positions, errors->count, sums);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        sums[i] = 0;
        for (uint32_t p = 0; p < positions; p++) {
            sums[i] += error[p * errors->count + i];
        }
    }
}

void tflite_unfold_gradient(const affine8_errors_t *errors, uint32_t positions, uint32_t taps, int8_t input_zero,
                            int32_t *gradient) {
    if (input_zero == 0) {
        return;
    }
    for (uint32_t o = 0, n; o < errors->count; o += n) {
        int32_t sums[ERROR_SUMS];
        n = errors->count - o < ERROR_SUMS ? errors->count - o : ERROR_SUMS;
        sum_channels(errors, positions, o, n, sums);
        for (uint32_t i = 0; i < n; i++, gradient += taps) {
            const int32_t sum = sums[i] - errors->zero * (int32_t)positions;
            if (sum != 0) {
                subtract(gradient, taps, (uint32_t)input_zero * (uint32_t)sum);
            }
        }
    }
}
