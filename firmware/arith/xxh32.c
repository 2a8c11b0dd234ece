#include "arith/xxh32.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are read in the byte order of the specification");

enum { STRIPE = 16 };

#define PRIME1 0x9E3779B1u
#define PRIME2 0x85EBCA77u
#define PRIME3 0xC2B2AE3Du
#define PRIME4 0x27D4EB2Fu
#define PRIME5 0x165667B1u

static inline uint32_t rotate_left(uint32_t x, unsigned n) {
    return (x << n) | (x >> (32 - n));
}

static inline uint32_t read_word(const uint8_t *p) {
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* The factors of a round. Held in registers they cost one MULS each; known to the compiler, it makes shifts and sums of
   them for Cortex-M0+, a dozen a product. */
typedef struct {
    uint32_t prime1, prime2;
} factors_t;

static inline factors_t factors_in_registers(void) {
    factors_t factors = {.prime1 = PRIME1, .prime2 = PRIME2};
    __asm__("" : "+r"(factors.prime1), "+r"(factors.prime2));
    return factors;
}

static inline uint32_t round_lane(uint32_t lane, uint32_t word, factors_t factors) {
    return rotate_left(lane + word * factors.prime2, 13) * factors.prime1;
}

/* The word at an address that is a multiple of 4: one load also on a core that has none for other addresses, as
   Cortex-M0+. */
static inline uint32_t read_aligned_word(const uint8_t *p) {
    return read_word(__builtin_assume_aligned(p, 4));
}

/* The stripes up to `end`. The lanes stay in registers; `read` is a constant to the compiler. */
static inline void take_until(uint32_t lane[4], const uint8_t *p, const uint8_t *end,
                              uint32_t (*read)(const uint8_t *)) {
    const factors_t factors = factors_in_registers();
    uint32_t a = lane[0], b = lane[1], c = lane[2], d = lane[3];
    for (; p != end; p += STRIPE) {
        a = round_lane(a, read(p), factors);
        b = round_lane(b, read(p + 4), factors);
        c = round_lane(c, read(p + 8), factors);
        d = round_lane(d, read(p + 12), factors);
    }
    lane[0] = a;
    lane[1] = b;
    lane[2] = c;
    lane[3] = d;
}

/* Take `stripes` stripes; returns the byte after them. */
static const uint8_t *take_stripes(uint32_t lane[4], const uint8_t *p, size_t stripes) {
    const uint8_t *end = p + stripes * STRIPE;
    if ((uintptr_t)p % 4 == 0) {
        take_until(lane, p, end, read_aligned_word);
    } else {
        take_until(lane, p, end, read_word);
    }
    return end;
}

void xxh32_begin(xxh32_t *state, uint32_t seed) {
    *state = (xxh32_t){.lane = {seed + PRIME1 + PRIME2, seed + PRIME2, seed, seed - PRIME1}, .seed = seed};
}

void xxh32_update(xxh32_t *state, const void *data, size_t n) {
    const uint8_t *p = data;
    state->length += (uint32_t)n;
    if (state->fill > 0) {
        const size_t missing = (size_t)(STRIPE - state->fill);
        const size_t taken = n < missing ? n : missing;
        memcpy(state->waiting + state->fill, p, taken);
        state->fill = (uint8_t)(state->fill + taken);
        p += taken;
        n -= taken;
        if (state->fill < STRIPE) {
            return;
        }
        take_stripes(state->lane, state->waiting, 1);
    }
    p = take_stripes(state->lane, p, n / STRIPE);
    state->fill = (uint8_t)(n % STRIPE);
    if (state->fill > 0) {
        memcpy(state->waiting, p, state->fill);
    }
}

/* The words and bytes after the last stripe. */
static uint32_t take_rest(uint32_t hash, const uint8_t *p, size_t n) {
    for (; n >= 4; n -= 4, p += 4) {
        hash = rotate_left(hash + read_word(p) * PRIME3, 17) * PRIME4;
    }
    for (; n > 0; n--, p++) {
        hash = rotate_left(hash + *p * PRIME5, 11) * PRIME1;
    }
    return hash;
}

static uint32_t avalanche(uint32_t hash) {
    hash ^= hash >> 15;
    hash *= PRIME2;
    hash ^= hash >> 13;
    hash *= PRIME3;
    hash ^= hash >> 16;
    return hash;
}

uint32_t xxh32_end(const xxh32_t *state) {
    const uint32_t *lane = state->lane;
    uint32_t hash = state->seed + PRIME5;
    if (state->length >= STRIPE) {
        hash = rotate_left(lane[0], 1) + rotate_left(lane[1], 7) + rotate_left(lane[2], 12) + rotate_left(lane[3], 18);
    }
    return avalanche(take_rest(hash + state->length, state->waiting, state->fill));
}

uint32_t xxh32(const void *data, size_t n, uint32_t seed) {
    xxh32_t state;
    xxh32_begin(&state, seed);
    xxh32_update(&state, data, n);
    return xxh32_end(&state);
}
