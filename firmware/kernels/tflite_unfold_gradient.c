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

void tflite_unfold_gradient(const affine8_errors_t *errors, uint32_t positions, uint32_t taps, int8_t input_zero,
                            int32_t *gradient) {
    const uint32_t channels = errors->count;
    if (input_zero == 0) {
        return;
    }
    for (uint32_t o = 0; o < channels; o++) {
        int32_t sum = -errors->zero * (int32_t)positions;
        for (uint32_t p = 0; p < positions; p++) {
            sum += errors->error[p * channels + o];
        }
        if (sum != 0) {
            subtract(gradient, taps, (uint32_t)input_zero * (uint32_t)sum);
        }
        gradient += taps;
    }
}
