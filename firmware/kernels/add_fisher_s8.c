#include "kernels/gradients.h"

#include "arith/float32.h"
#include "arith/sqrt32.h"

enum { LEAST_EXPONENT = -60 };

/* The magnitude of the sum of one channel: only its square counts. */
static uint64_t sum_of(const int8_t *out, const int8_t *error, uint32_t positions, uint32_t channels, int8_t zero) {
    int64_t sum = 0;
    for (uint32_t p = 0; p < positions; p++, out += channels, error += channels) {
        sum += (*out - zero) * *error;
    }
    return sum < 0 ? (uint64_t)-sum : (uint64_t)sum;
}

void add_fisher_s8(const int8_t *out, const int8_t *error, uint32_t positions, uint32_t channels, int8_t zero,
                   int32_t exponent, float *fisher) {
    const int32_t low = exponent < LEAST_EXPONENT ? LEAST_EXPONENT : exponent;
    const float power = float32_power_of_two(low > 0 ? 0 : low);
    for (uint32_t o = 0; o < channels; o++) {
        const float v = float32_of_u64(sum_of(out + o, error + o, positions, channels, zero)) * power;
        const float square = v * v;
        fisher[o] = fisher[o] + square;
    }
}
