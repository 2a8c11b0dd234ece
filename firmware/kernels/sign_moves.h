/* Four bytes, each moved by 1 or -1 by the signs of four draws: docs/arithmetic-zeroth-order.md, section 3. With a
   gate, only the outputs that pass are moved. Private to the kernels of perturbation and of the gradient of nodes. */
#pragma once

#include <stdint.h>

#include "kernels/dsp.h"

/* Which outputs an error or a perturbation passes: those strictly between the limits of the activation. */
typedef struct {
    int32_t least;
    uint32_t count; /* of values from `least` on */
} passing_t;

static inline passing_t passing_between(int8_t act_min, int8_t act_max) {
    const int32_t count = act_max - act_min - 1;
    return (passing_t){.least = act_min + 1, .count = count < 0 ? 0 : (uint32_t)count};
}

static inline int passes(int32_t value, passing_t passing) {
    return (uint32_t)(value - passing.least) < passing.count;
}

/* The moves by the signs of four draws, of which the first is the lowest bit: four bytes where the core adds bytes,
   else one number, xi_0 + 2^8 xi_1 + 2^16 xi_2 + 2^24 xi_3. */
extern const uint32_t four_moves[16];

#if KERNELS_DSP

static inline uint32_t move_four(uint32_t bytes, uint32_t moves) {
    return unwrap_bytes(bytes, moves);
}

#else

/* Weights in -126..126 are 2..254 with their sign bits turned over: then no byte borrows from the next or carries into
   it. */
static inline uint32_t move_four(uint32_t bytes, uint32_t moves) {
    return ((bytes ^ 0x80808080u) + moves) ^ 0x80808080u;
}

#endif

/* The moves for the signs in bits `first`..`first` + 3. */
static inline uint32_t moves_of(uint32_t signs, uint32_t first) {
    return four_moves[signs >> first & 15u];
}

/* The gate: which of four bytes pass. */
#if KERNELS_DSP

typedef struct {
    uint32_t least, most; /* four times; where nothing passes, no byte is both */
} gate_t;

static inline gate_t gate_of(passing_t passing) {
    if (passing.count == 0) {
        return (gate_t){.least = four_times(127), .most = four_times(-128)};
    }
    return (gate_t){.least = four_times(passing.least), .most = four_times(passing.least + (int32_t)passing.count - 1)};
}

static inline uint32_t move_passing(uint32_t bytes, uint32_t moves, const gate_t *gate) {
    const uint32_t above = where_at_least_s8(bytes, gate->least, moves, 0);
    return move_four(bytes, where_at_least_s8(gate->most, bytes, above, 0));
}

#else

/* Bytes are compared in lanes of 16 bits, once their sign bits are turned over: modulo 2^8, those that pass lie less
   than `count` above the least. */
typedef struct {
    uint32_t to_least; /* both lanes: 2^8 less the least of them */
    uint32_t count;    /* both lanes: 2^8 - 1 more, so that bit 8 stays where a byte passes */
} gate_t;

#define LANES 0x00FF00FFu

static inline gate_t gate_of(passing_t passing) {
    const uint32_t least = (uint32_t)(passing.least + 128);
    return (gate_t){.to_least = (0x100u - least) * 0x00010001u, .count = (0xFFu + passing.count) * 0x00010001u};
}

static inline uint32_t passing_lanes(uint32_t lanes, const gate_t *gate) {
    return gate->count - ((lanes + gate->to_least) & LANES);
}

static inline uint32_t move_passing(uint32_t bytes, uint32_t moves, const gate_t *gate) {
    const uint32_t turned = bytes ^ 0x80808080u;
    const uint32_t even = passing_lanes(turned & LANES, gate) >> 8 & 0x00010001u;
    const uint32_t odd = passing_lanes(turned >> 8 & LANES, gate) & 0x01000100u;
    const uint32_t ones = even | odd, twice = 0x01010101u - moves; /* two for each byte that is to move down */
    return (turned + ones - (twice & ones << 1)) ^ 0x80808080u;
}

#endif
