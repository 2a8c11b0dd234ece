/* Four bytes, each moved by 1 or -1: docs/arithmetic-zeroth-order.md, section 3. */
#ifndef FOUR_MOVES_H
#define FOUR_MOVES_H

#include <stdint.h>

#include "kernels/dsp.h"

/* The moves by the signs of four draws, of which the first is the lowest bit: four bytes where the core adds bytes, else one number,
   xi_0 + 2^8 xi_1 + 2^16 xi_2 + 2^24 xi_3. */
extern const uint32_t four_moves[16];

#if KERNELS_DSP

static inline uint32_t move_four(uint32_t bytes, uint32_t moves) {
    return unwrap_bytes(bytes, moves);
}

#else

/* Weights in -126..126 are 2..254 with their sign bits turned over: then no byte borrows from the next or carries into it. */
static inline uint32_t move_four(uint32_t bytes, uint32_t moves) {
    return ((bytes ^ 0x80808080u) + moves) ^ 0x80808080u;
}

#endif

/* The moves for the signs in bits `first`..`first` + 3. */
static inline uint32_t moves_of(uint32_t signs, uint32_t first) {
    return four_moves[signs >> first & 15u];
}

#endif
