#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else move_s8_dsp.c, move_s8_m0.c */

#include "arith/clip127.h"
#include "kernels/noise.h"
#include "kernels/perturbation.h"

/* The two moves of a group, by its field of the stream. */
typedef struct {
    int8_t first[NOISE_FIELDS][4], second[NOISE_FIELDS][4];
} table_t;

_Static_assert(sizeof(table_t) == MOVES_WORDS * sizeof(uint32_t), "the table fills the words");

static table_t *table_of(const moves_t *moves) {
    return (void *)moves->words;
}

void moves_to_perturb(moves_t *moves, noise_t noise, int32_t k, uint8_t limit) {
    table_t *table = table_of(moves);
    for (uint32_t e = 0; e < NOISE_ENTRIES; e++) {
        const noise_words_t words = noise_next(&noise);
        for (uint32_t i = 0; i < 4; i++) {
            const int32_t z = noise_of(&noise, words, i), first = k == 1 ? z : -z, second = k == 1 ? 0 : -z;
            table->first[e][i] = (int8_t)first;
            table->second[e][i] = (int8_t)second;
            table->first[e + NOISE_ENTRIES][i] = (int8_t)-first;
            table->second[e + NOISE_ENTRIES][i] = (int8_t)-second;
        }
    }
    (void)limit; /* nothing saturates beyond it */
    moves->limit = 127;
}

void moves_to_update(moves_t *moves, noise_t noise, int32_t sign, int32_t b_zo, uint8_t limit) {
    table_t *table = table_of(moves);
    zo_update_t update;
    zo_update_fill(&update, noise.r_max, sign, b_zo);
    for (uint32_t e = 0; e < NOISE_ENTRIES; e++) {
        const noise_words_t words = noise_next(&noise);
        for (uint32_t i = 0; i < 4; i++) {
            const int32_t z = noise_of(&noise, words, i), second = zo_update_of(&update, z);
            table->first[e][i] = (int8_t)z;
            table->second[e][i] = (int8_t)second;
            table->first[e + NOISE_ENTRIES][i] = (int8_t)-z;
            table->second[e + NOISE_ENTRIES][i] = (int8_t)-second;
        }
    }
    moves->limit = limit;
}

static void move_group(int8_t *weights, uint32_t n, const table_t *table, uint32_t field, int32_t limit) {
    for (uint32_t i = 0; i < n; i++) {
        const int32_t first = clip(weights[i] + table->first[field][i], limit);
        weights[i] = (int8_t)clip(first + table->second[field][i], limit);
    }
}

void move_s8(int8_t *weights, uint32_t n, uint32_t state, const moves_t *moves) {
    const table_t *table = table_of(moves);
    while (n > 0) {
        state = xorshift32(state);
        for (uint32_t j = 0; j < NOISE_GROUPS && n > 0; j++) {
            const uint32_t taken = n < 4 ? n : 4;
            move_group(weights, taken, table, noise_field(state, j), moves->limit);
            weights += taken;
            n -= taken;
        }
    }
}

#endif
