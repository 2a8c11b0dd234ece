#include "kernels/dsp.h"

#if !KERNELS_DSP /* else direction_moves_s16_dsp.c */

#include "arith/clip127.h"
#include "kernels/directions.h"

enum { NO_LIMIT = INT16_MAX };

static inline void move(int16_t *weights, uint32_t n, uint32_t state, int16_t moves[NOISE_FIELDS][4], int32_t limit) {
    while (n > 0) {
        state = xorshift32(state);
        for (uint32_t j = 0; j < NOISE_GROUPS && n > 0; j++) {
            const int16_t *by = moves[noise_field(state, j)];
            const uint32_t taken = n < 4 ? n : 4;
            for (uint32_t i = 0; i < taken; i++) {
                weights[i] = (int16_t)clip(weights[i] + by[i], limit);
            }
            weights += taken;
            n -= taken;
        }
    }
}

void direction_move_s16(int16_t *weights, uint32_t n, uint32_t state, int16_t moves[NOISE_FIELDS][4]) {
    move(weights, n, state, moves, NO_LIMIT);
}

void direction_update_s16(int16_t *weights, uint32_t n, uint32_t state, int16_t moves[NOISE_FIELDS][4], int32_t limit) {
    move(weights, n, state, moves, limit);
}

#endif
