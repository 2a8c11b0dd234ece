#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include "kernels/terms_s8.h"
#include "kernels/tflite_gradient_sums_s8.h"

enum { CHUNK = 64 }; /* errors at a time, 8 bytes of stack each */

void tflite_gradient_sums_s8(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *error,
                             int8_t error_zero, uint32_t channels, uint32_t taps, int32_t *gradient) {
    term_t terms[CHUNK];
    for (uint32_t first = 0, n; first < positions; first += n) {
        n = positions - first < CHUNK ? positions - first : CHUNK;
        for (uint32_t o = 0; o < channels; o++) {
            const term_t *const end = terms_of_differences(terms, error + o, n, channels, error_zero, 0, step);
            terms_add_sums(terms, (uint32_t)(end - terms), in, 1, taps, gradient + o * taps);
        }
        in += n * step;
        error += n * channels;
    }
}

#endif
