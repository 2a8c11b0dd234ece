/* Gradients of a layer: their sums over samples (docs/arithmetic.md, section 7), of some channels, and how much a
   channel matters (docs/arithmetic-tinytrain.md). */
#include "kernels/gradients.h"

#include "arith/float32.h"
#include "arith/integers.h"
#include "kernels/core.h"

void tflite_bias_gradient_s8(const int8_t *error, uint32_t positions, uint32_t channels, int32_t *gradient) {
    for (uint32_t p = 0; p < positions; p++) {
        for (uint32_t o = 0; o < channels; o++) {
            gradient[o] = (int32_t)((uint32_t)gradient[o] + (uint32_t)*error++);
        }
    }
}

int32_t align_gradient_s32(int32_t *gradient, uint32_t n, bool first, int32_t x, int32_t *exponent) {
    if (first) {
        for (uint32_t i = 0; i < n; i++) {
            gradient[i] = 0;
        }
        *exponent = x;
    } else if (x > *exponent) {
        scale_gradient_s32(gradient, n, x - *exponent);
        *exponent = x;
    }
    return *exponent - x;
}

void add_gradient_s32(int32_t *gradient, const int32_t *sample, uint32_t n, int32_t shift) {
    for (uint32_t i = 0; i < n; i++) {
        gradient[i] = add_sat32(gradient[i], trunc_shift(sample[i], shift));
    }
}

SEPARATE void scale_gradient_s32(int32_t *gradient, uint32_t n, int32_t shift) {
    for (uint32_t i = 0; i < n; i++) {
        gradient[i] = trunc_shift(gradient[i], shift);
    }
}

void pack_channels_s8(const int8_t *values, uint32_t positions, uint32_t channels, uint32_t first, uint32_t count,
                      int8_t *packed) {
    const int8_t *from = values + first;
    for (uint32_t p = 0; p < positions; p++) {
        for (uint32_t c = 0; c < count; c++) {
            *packed++ = from[c];
        }
        from += channels;
    }
}

enum { FOUR = 4 };

/* The first `n` channels of a list, 1 to 4, which the compiler knows, at all positions. */
INLINED void gather(const int8_t *values, uint32_t positions, uint32_t channels, const uint16_t *list, uint32_t n,
                    uint32_t count, int8_t *packed) {
    uint32_t channel[FOUR];
    for (uint32_t i = 0; i < n; i++) {
        channel[i] = list[i];
    }
    for (; positions > 0; positions--, values += channels, packed += count) {
        for (uint32_t i = 0; i < n; i++) {
            packed[i] = values[channel[i]];
        }
    }
}

void gather_channels_s8(const int8_t *values, uint32_t positions, uint32_t channels, const uint16_t *list,
                        uint32_t count, int8_t *packed) {
    const uint16_t *const fours = list + count / FOUR * FOUR;
    for (; list != fours; list += FOUR, packed += FOUR) {
        gather(values, positions, channels, list, FOUR, count, packed);
    }
    switch (count % FOUR) {
    case 1: gather(values, positions, channels, list, 1, count, packed); break;
    case 2: gather(values, positions, channels, list, 2, count, packed); break;
    case 3: gather(values, positions, channels, list, 3, count, packed); break;
    default: break;
    }
}

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
