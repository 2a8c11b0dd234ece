/* One loop of integers over the weights, twelve at a time: so many z come from a word of their stream. */
#include "kernels/stochastic.h"

#include <stdbool.h>
#include <stddef.h>

#include "arith/integers.h"
#include "kernels/core.h"

enum {
    BLOCK = DIRECTION_BLOCK,
    ROUNDING_STREAMS = 0x10000, /* where the streams of a step begin that round u and v, and d */
    UPDATE_STREAMS = 0x20000,
    LOW_HALF = 0xFFFF,
};

stochastic_streams_t stochastic_streams(uint32_t seed, uint32_t step, uint32_t direction, uint32_t tensor) {
    const uint32_t rounding = ROUNDING_STREAMS + STREAMS_OF_STEP * direction + tensor + 1u;
    return (stochastic_streams_t){.z = direction_state(seed, step, direction, tensor),
                                  .rounding = stream_start(seed, step, rounding)};
}

uint32_t stochastic_update_state(uint32_t seed, uint32_t step, uint32_t tensor) {
    return stream_start(seed, step, UPDATE_STREAMS + tensor + 1u);
}

/* A walk through a tensor, twelve weights at a time. The last block has numbers behind its weights, too, which nothing
   takes. */
typedef struct {
    const stochastic_weights_t *weights;
    uint32_t at, count;  /* of the block */
    uint32_t unit, left; /* weights of the next unit that are left */
    bool same;           /* all of `scale` is that of the unit */
    int32_t scale[BLOCK], weight[BLOCK];
} walk_t;

static walk_t begin_walk(const stochastic_weights_t *weights) {
    return (walk_t){.weights = weights, .left = weights->run};
}

/* The E of the next block. */
SEPARATE static void next_scales(walk_t *walk) {
    const stochastic_weights_t *weights = walk->weights;
    const bool inside = walk->left > BLOCK;
    if (inside && walk->same) {
        walk->left -= BLOCK;
        return;
    }
    walk->same = inside;
    for (uint32_t i = 0; i < BLOCK; i++) {
        walk->scale[i] = weights->scales[walk->unit];
        if (--walk->left == 0) {
            walk->left = weights->run;
            walk->unit = walk->unit + 1 < weights->units ? walk->unit + 1 : 0;
        }
    }
}

/* Go on to the next block, if there is one. */
static inline bool next_block(walk_t *walk) {
    walk->at += walk->count;
    const uint32_t left = walk->weights->n - walk->at;
    walk->count = left < BLOCK ? left : BLOCK;
    next_scales(walk);
    return left > 0;
}

SEPARATE static void load_block(walk_t *walk) {
    const stochastic_weights_t *weights = walk->weights;
    for (uint32_t i = 0; i < walk->count; i++) {
        walk->weight[i] = weights->s16 != NULL ? weights->s16[walk->at + i] : weights->s8[walk->at + i];
    }
}

SEPARATE static void put_block(const walk_t *walk) {
    const stochastic_weights_t *weights = walk->weights;
    for (uint32_t i = 0; i < walk->count; i++) {
        if (weights->s16 != NULL) {
            weights->s16[walk->at + i] = (int16_t)walk->weight[i];
        } else {
            weights->s8[walk->at + i] = (int8_t)walk->weight[i];
        }
    }
}

/* floor((E * z + number) / 2^16): below 2^31. */
static inline int32_t rounded(int32_t scale, int32_t z, uint32_t number) {
    return (scale * z + (int32_t)number) >> STOCHASTIC_BITS;
}

static inline int32_t held(const walk_t *walk, uint32_t i, int32_t value) {
    return clip(value, walk->weights->largest - stochastic_reach(walk->scale[i]));
}

void stochastic_limit(const stochastic_weights_t *weights) {
    for (walk_t walk = begin_walk(weights); next_block(&walk); put_block(&walk)) {
        load_block(&walk);
        for (uint32_t i = 0; i < BLOCK; i++) {
            walk.weight[i] = held(&walk, i, walk.weight[i]);
        }
    }
}

SEPARATE static void move_block(walk_t *walk, const int8_t (*pool)[4], stochastic_streams_t *streams, int32_t k) {
    int32_t z[BLOCK];
    load_block(walk);
    direction_next(pool, &streams->z, z);
    for (uint32_t i = 0; i < BLOCK; i++) {
        streams->rounding = xorshift32(streams->rounding);
        walk->weight[i] += k * rounded(walk->scale[i], z[i], streams->rounding & LOW_HALF);
    }
    put_block(walk);
}

/* A whole block of one unit, as most are, where it lies; (-E) * z is E * (-z). */
INLINED void move_unit(const walk_t *walk, const int8_t (*pool)[4], stochastic_streams_t *streams, int32_t k,
                       bool wide) {
    int8_t *s8 = wide ? NULL : walk->weights->s8 + walk->at;
    int16_t *s16 = wide ? walk->weights->s16 + walk->at : NULL;
    const int32_t scale = walk->scale[0];
    const uint32_t word = xorshift32(streams->z);
    uint32_t state = streams->rounding;
    for (uint32_t j = 0; j < NOISE_GROUPS; j++) {
        const uint32_t field = noise_field(word, j);
        const int8_t *entry = pool[field % NOISE_ENTRIES];
        const int32_t signed_scale = field < NOISE_ENTRIES ? scale : -scale;
        for (uint32_t i = 4 * j; i < 4 * j + 4; i++) {
            state = xorshift32(state);
            const int32_t move = k * rounded(signed_scale, entry[i % 4], state & LOW_HALF);
            if (wide) {
                s16[i] = (int16_t)(s16[i] + move);
            } else {
                s8[i] = (int8_t)(s8[i] + move);
            }
        }
    }
    *streams = (stochastic_streams_t){.z = word, .rounding = state};
}

void stochastic_move(const stochastic_weights_t *weights, const int8_t (*pool)[4], stochastic_streams_t streams,
                     int32_t k) {
    for (walk_t walk = begin_walk(weights); next_block(&walk);) {
        if (!walk.same || walk.count < BLOCK) {
            move_block(&walk, pool, &streams, k);
        } else if (weights->s16 != NULL) {
            move_unit(&walk, pool, &streams, k, true);
        } else {
            move_unit(&walk, pool, &streams, k, false);
        }
    }
}

/* Add C * v of a direction to the sums of a block, and k * u to its weights. */
SEPARATE static void add_moves(walk_t *walk, const int8_t (*pool)[4], stochastic_streams_t *streams, int32_t factor,
                               int32_t k, int64_t sum[BLOCK]) {
    int32_t z[BLOCK];
    direction_next(pool, &streams->z, z);
    for (uint32_t i = 0; i < BLOCK; i++) {
        streams->rounding = xorshift32(streams->rounding);
        sum[i] += (int64_t)factor * rounded(walk->scale[i], z[i], streams->rounding >> STOCHASTIC_BITS);
        walk->weight[i] += k * rounded(walk->scale[i], z[i], streams->rounding & LOW_HALF);
    }
}

/* d, of the sum of a weight. */
static inline int32_t move_of(int64_t sum, uint32_t number) {
    const int64_t move = (sum + number) >> STOCHASTIC_BITS;
    return move > STOCHASTIC_MOVE ? STOCHASTIC_MOVE : move < -STOCHASTIC_MOVE ? -STOCHASTIC_MOVE : (int32_t)move;
}

void stochastic_update(const stochastic_weights_t *weights, const int8_t (*pool)[4], stochastic_streams_t *streams,
                       const int32_t *factors, uint32_t count, uint32_t state) {
    for (walk_t walk = begin_walk(weights); next_block(&walk); put_block(&walk)) {
        int64_t sum[BLOCK] = {0};
        load_block(&walk);
        for (uint32_t direction = 0; direction < count; direction++) {
            add_moves(&walk, pool, &streams[direction], factors[direction], direction + 1 == count, sum);
        }
        for (uint32_t i = 0; i < BLOCK; i++) {
            state = xorshift32(state);
            walk.weight[i] = held(&walk, i, walk.weight[i] - move_of(sum[i], state >> STOCHASTIC_BITS));
        }
    }
}
