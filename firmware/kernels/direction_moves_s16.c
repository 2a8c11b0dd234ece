#include "kernels/dsp.h"

#if !KERNELS_DSP /* else direction_moves_s16_dsp.c */

#include "arith/clip127.h"
#include "kernels/directions.h"

void direction_to_update(direction_moves_t *moves, uint32_t state, const int16_t of[NOISE_ENTRIES], int32_t limit) {
    moves->limit = limit;
    for (uint32_t e = 0; e < NOISE_ENTRIES; e++) {
        state = xorshift32(state);
        for (uint32_t i = 0; i < 4; i++) {
            const int16_t by = of[state >> (8 * i) & 0xFFu];
            moves->by[e][i] = by;
            moves->by[e + NOISE_ENTRIES][i] = (int16_t)-by;
        }
    }
}

void direction_to_perturb(direction_moves_t *moves, uint32_t state, const int16_t of[NOISE_ENTRIES]) {
    direction_to_update(moves, state, of, INT16_MAX);
}

void direction_move_s16(int16_t *weights, uint32_t n, uint32_t state, const direction_moves_t *moves) {
    while (n > 0) {
        state = xorshift32(state);
        for (uint32_t j = 0; j < NOISE_GROUPS && n > 0; j++) {
            const int16_t *by = moves->by[noise_field(state, j)];
            const uint32_t taken = n < 4 ? n : 4;
            for (uint32_t i = 0; i < taken; i++) {
                weights[i] = (int16_t)clip(weights[i] + by[i], moves->limit);
            }
            weights += taken;
            n -= taken;
        }
    }
}

#endif
