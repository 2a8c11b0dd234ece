/* The generator of docs/arithmetic.md, section 8. */
#pragma once

#include <stdint.h>

static inline uint32_t xorshift32(uint32_t x) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x;
}

static inline uint32_t mix32(uint32_t h) {
    h ^= h >> 16;
    h *= 0x85EBCA6Bu;
    h ^= h >> 13;
    h *= 0xC2B2AE35u;
    h ^= h >> 16;
    return h;
}

/* start(i): the state with which stream `i` of a step begins. Stream 0 fills the pool; stream l + 1 draws for trained
   tensor l. */
static inline uint32_t stream_start(uint32_t seed, uint32_t step, uint32_t i) {
    const uint32_t key = mix32(seed + 0x9E3779B9u * (step + 1u));
    const uint32_t state = mix32(key ^ (0x27D4EB2Fu * i));
    return state == 0 ? 0x6D2B79F5u : state;
}

static inline uint32_t pool_state(uint32_t seed, uint32_t step) {
    return stream_start(seed, step, 0);
}

static inline uint32_t tensor_state(uint32_t seed, uint32_t step, uint32_t tensor) {
    return stream_start(seed, step, tensor + 1u);
}
