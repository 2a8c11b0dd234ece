/* Perturbation and updates of weights (docs/arithmetic.md, sections 7 to 9). */
#include "native.h"

enum { ENTRIES = 256, FIELDS = 3, LARGEST = 127 };

static uint32_t xorshift32(uint32_t x) {
    x ^= x << 13;
    x ^= x >> 17;
    return x ^ x << 5;
}

void native_noise_pool(uint32_t state, int32_t p_zero, int32_t r_max, int16_t *pool) {
    for (int entry = 0; entry < ENTRIES; entry++) {
        uint32_t mask = xorshift32(state), value = state = xorshift32(mask);
        for (int i = 0; i < QUAD; i++, mask >>= 8, value >>= 8) {
            int32_t drawn = (int32_t)(((value & 255) * (uint32_t)(2 * r_max + 1) + (uint32_t)r_max) >> 8) - r_max;
            int16_t z = (int16_t)((int32_t)(mask & 255) < p_zero ? 0 : drawn);
            pool[QUAD * entry + i] = z;
            pool[QUAD * (ENTRIES + entry) + i] = (int16_t)-z;
        }
    }
}

void native_noise(const int16_t *pool, uint32_t state, int64_t size, int16_t *z) {
    int64_t at = 0;
    while (at < size) {
        state = xorshift32(state);
        for (int field = 0; field < FIELDS && at < size; field++) {
            const int16_t *entry = pool + (state >> 9 * field & 511) * QUAD;
            for (int i = 0; i < QUAD && at < size; i++)
                z[at++] = entry[i];
        }
    }
}

static int32_t clip(int32_t value, int32_t limit) {
    return value > limit ? limit : value < -limit ? -limit : value;
}

void native_moved(const int8_t *weights, const int16_t *z, int64_t size, int32_t factor, int32_t limit, int8_t *out) {
    for (int64_t i = 0; i < size; i++)
        out[i] = (int8_t)clip(clip(weights[i], limit) + factor * z[i], LARGEST);
}

static uint32_t magnitude(int32_t value) {
    return value < 0 ? 0u - (uint32_t)value : (uint32_t)value;
}

/* PstoShift of section 2. */
static int32_t psto_shift(int32_t x, int32_t s) {
    uint32_t size = magnitude(x), q = size >> s, p = size - (q << s), high = p >> s / 2, low = p - (high << s / 2);
    q += high > low << s % 2;
    int32_t small = (int32_t)(q > LARGEST ? LARGEST : q);
    return x < 0 ? -small : small;
}

void native_zo_updated(const int8_t *weights, const int16_t *z, int64_t size, int32_t sign, int32_t shift,
                       int32_t limit, int8_t *out) {
    if (shift < 1)
        for (int64_t i = 0; i < size; i++)
            out[i] = (int8_t)clip(clip(weights[i] + z[i], limit) - sign * z[i], limit);
    else
        for (int64_t i = 0; i < size; i++)
            out[i] = (int8_t)clip(clip(weights[i] + z[i], limit) - psto_shift(sign * z[i], shift), limit);
}

void native_bp_updated(const int8_t *weights, const int32_t *gradient, int64_t size, int32_t b_bp, int8_t *out) {
    uint32_t largest = 0;
    int32_t shift = -b_bp;
    for (int64_t i = 0; i < size; i++) {
        uint32_t m = magnitude(gradient[i]);
        largest = m > largest ? m : largest;
    }
    for (; largest; largest >>= 1)
        shift++;
    if (shift < 1)
        for (int64_t i = 0; i < size; i++)
            out[i] = (int8_t)clip(weights[i] - gradient[i], LARGEST);
    else
        for (int64_t i = 0; i < size; i++)
            out[i] = (int8_t)clip(weights[i] - psto_shift(gradient[i], shift), LARGEST);
}
