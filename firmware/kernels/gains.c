/* 64-bit products and sums, but no division and no shift of 64 bits by a variable: a channel is cheap beside its sums,
   also where such a product is a call (Armv6-M). */
#include "kernels/gains.h"

#include "arith/integers.h"

enum { MOVE_BITS = 8 /* that are rounded away of C * z */ };

/* P is in 2^52..2^57 - 1: its upper word has 21 to 25 bits, so k is 22 to 26. */
static inline void make(const gains_t *gains, uint32_t c, int32_t gain) {
    const uint64_t product = (uint64_t)(uint32_t)gains->multiplier[c] * (uint32_t)gain;
    const int32_t cut = bits((uint32_t)(product >> 32)) + 1;
    const uint64_t sum = product + (1u << (cut - 1));
    const uint32_t rounded = (uint32_t)(sum >> 32) << (32 - cut) | (uint32_t)sum >> cut;
    const uint32_t carry = rounded >> 31; /* 2^31 is 2^30 of a larger shift */
    gains->made_multiplier[c] = (int32_t)(rounded >> carry);
    gains->made_shift[c] = (int8_t)(gains->shift[c] + cut + (int32_t)carry - GAIN_BITS);
}

void gains_make(const gains_t *gains) {
    for (uint32_t c = 0; c < gains->n; c++) {
        make(gains, c, gains->gain[c]);
    }
}

/* Behind the last channel of the block that begins with channel c. */
static inline uint32_t block_end(const gains_t *gains, uint32_t c) {
    return gains->n - c < DIRECTION_BLOCK ? gains->n : c + DIRECTION_BLOCK;
}

void gains_make_moved(const gains_t *gains, const gain_moves_t *moves, int32_t k) {
    const int32_t scale = k * moves->scale;
    uint32_t state = moves->state, c = 0;
    int32_t z[DIRECTION_BLOCK];
    while (c < gains->n) {
        direction_next(moves->pool, &state, z);
        const int32_t *next = z;
        for (const uint32_t end = block_end(gains, c); c < end; c++) {
            make(gains, c, gains->gain[c] + scale * *next++);
        }
    }
}

static inline int32_t held(int64_t gain, int32_t scale) {
    const int32_t least = GAIN_LEAST + DIRECTION_LARGEST_Z * scale, most = GAIN_MOST - DIRECTION_LARGEST_Z * scale;
    return gain < least ? least : gain > most ? most : (int32_t)gain;
}

void gains_limit(const gains_t *gains, int32_t scale) {
    for (uint32_t c = 0; c < gains->n; c++) {
        gains->gain[c] = held(gains->gain[c], scale);
    }
}

void gains_update(const gains_t *gains, const gain_moves_t *moves, int64_t factor) {
    uint32_t state = moves->state, c = 0;
    int32_t z[DIRECTION_BLOCK];
    while (c < gains->n) {
        direction_next(moves->pool, &state, z);
        const int32_t *next = z;
        for (const uint32_t end = block_end(gains, c); c < end; c++) {
            const int64_t move = (factor * *next++ + (1 << (MOVE_BITS - 1))) >> MOVE_BITS;
            gains->gain[c] = held(gains->gain[c] - move, moves->scale);
        }
    }
}
