/* Section 8: the generator, the pool of a step and the perturbation of a tensor. */
#include "naive.h"

static uint32_t shift_left(uint32_t x, int n) {
    return (uint32_t)((uint64_t)x * (uint64_t)naive_power(n));
}

static uint32_t shift_right(uint32_t x, int n) {
    return (uint32_t)(x / naive_power(n));
}

static uint32_t naive_mix32(uint32_t h) {
    h ^= shift_right(h, 16);
    h = (uint32_t)((uint64_t)h * 0x85EBCA6Bu);
    h ^= shift_right(h, 13);
    h = (uint32_t)((uint64_t)h * 0xC2B2AE35u);
    return h ^ shift_right(h, 16);
}

static uint32_t naive_xorshift32(uint32_t x) {
    x ^= shift_left(x, 13);
    x ^= shift_right(x, 17);
    return x ^ shift_left(x, 5);
}

/* start(i) of section 8. */
static uint32_t naive_start(const elasticzo_settings_t *settings, uint32_t step, uint64_t i) {
    const uint32_t key = naive_mix32((uint32_t)(settings->seed + 0x9E3779B9u * ((uint64_t)step + 1)));
    const uint32_t state = naive_mix32(key ^ (uint32_t)(0x27D4EB2Fu * i));
    return state == 0 ? 0x6D2B79F5u : state;
}

void naive_pool(int8_t pool[256][4], const elasticzo_settings_t *settings, uint32_t step) {
    uint32_t state = naive_start(settings, step, 0);
    for (uint32_t e = 0; e < 256; e++) {
        const uint32_t a = naive_xorshift32(state), b = naive_xorshift32(a);
        state = b;
        for (int i = 0; i < 4; i++) {
            const int64_t a_i = shift_right(a, 8 * i) % 256, b_i = shift_right(b, 8 * i) % 256, r = settings->r_max;
            pool[e][i] = (int8_t)(a_i < settings->p_zero ? 0 : (b_i * (2 * r + 1) + r) / 256 - r);
        }
    }
}

void naive_noise(int8_t *z, uint32_t n, const elasticzo_settings_t *settings, uint32_t step, uint32_t tensor) {
    int8_t pool[256][4];
    naive_pool(pool, settings, step);
    uint32_t word = naive_start(settings, step, (uint64_t)tensor + 1);
    for (uint32_t i = 0; i < n; i++) {
        if (i % 12 == 0) {
            word = naive_xorshift32(word);
        }
        const uint32_t f = shift_right(word, 9 * (int)(i % 12 / 4)) % 512;
        const int8_t entry = pool[f % 256][i % 4];
        z[i] = (int8_t)(f < 256 ? entry : -entry);
    }
}
