/* Weights moved by numbers of the pool of noise: docs/arithmetic.md, sections 8 and 9. For Armv6-M: move_s8_m0.c. */
#include "kernels/perturbation.h"

#include <stdbool.h>

#include "arith/integers.h"
#include "kernels/dsp.h"
#include "kernels/noise.h"

#if KERNELS_DSP

/* The entries of the pool, all four numbers at a time. */

/* What stays the same for a pool. */
typedef struct {
    uint32_t factor; /* 2 r_max + 1 */
    uint32_t half;   /* r_max in both lanes of 16 bits */
    uint32_t offset; /* r_max in all bytes */
    uint32_t p_zero; /* in all bytes */
} noise4_t;

static inline noise4_t noise4_begin(const noise_t *noise) {
    const uint32_t r = noise->r_max;
    return (noise4_t){
        .factor = 2 * r + 1,
        .half = r << 16 | r,
        .offset = four_times(noise->r_max),
        .p_zero = four_times(noise->p_zero),
    };
}

/* The next four z, signed bytes. A product of a byte with the factor fits 16 bits: 255 * 255 + 127 < 2^16. */
static inline uint32_t noise4_next(const noise4_t *same, noise_t *noise) {
    const noise_words_t words = noise_next(noise);
    const uint32_t even = even_lanes_u8(words.b) * same->factor + same->half;
    const uint32_t odd = odd_lanes_u8(words.b) * same->factor + same->half;
    const uint32_t above = odd_lanes_u8(even) | (odd & 0xFF00FF00u); /* z + r_max, 0..2 r_max */
    return where_at_least_u8(words.a, same->p_zero, wrap_bytes(above, same->offset), 0);
}

/* The form of the moves, and what the words of a field hold. Bytes saturate at -128, one too low: a move that is one
   lower ends there, and the one given back is what lets it end at -127. */
enum {
    FREE,  /* a move that saturates nowhere */
    ONCE,  /* a move less one, which then comes back; 127 stays with it */
    BACK,  /* the first move, less one if it is negative; in the second half of the words the second, which goes the
              other way and so saturates nowhere, with that one */
    TWICE, /* both moves less one */
    HELD,  /* both moves in one, whose sum saturates nowhere but is then held within the limit */
};

#define ONES 0x01010101u

/* In all bytes, with the limit W of 64..127: */
typedef struct {
    uint32_t to_top;    /* 127 - W: W + to_top is where bytes saturate */
    uint32_t to_bottom; /* 255 - 2 W: from there, -W - to_bottom is where they do */
    uint32_t back;      /* 128 - W: what is left to be taken back */
} held_t;

/* What the form makes of two moves, in all bytes. */
typedef struct {
    uint32_t *words;
    uint32_t merged;   /* -1: both moves in one, 0: each by itself */
    uint32_t one;      /* what a move is lower by */
    uint32_t negative; /* what a negative one is lower by */
    bool second;       /* there is a second move */
    uint32_t less;     /* what the second is lower by */
} shape_t;

static shape_t shape_of(const moves_t *moves) {
    const uint8_t form = moves->form;
    return (shape_t){
        .words = moves->words,
        .merged = form == BACK || form == TWICE ? 0 : UINT32_MAX,
        .one = form == ONCE || form == TWICE ? ONES : 0,
        .negative = form == BACK ? ONES : 0,
        .second = form == BACK || form == TWICE,
        .less = form == TWICE ? ONES : 0,
    };
}

static inline void put_moves(const shape_t *shape, uint32_t field, uint32_t first, uint32_t second) {
    const uint32_t negative = first >> 7 & shape->negative;
    shape->words[field] = wrap_bytes(unwrap_bytes(first, second & shape->merged), shape->one | negative);
    if (shape->second) {
        shape->words[field + NOISE_FIELDS] = wrap_bytes(unwrap_bytes(second, negative), shape->less);
    }
}

/* The moves of an entry, and the opposite ones, which those who draw the other sign take. */
static inline void put_both(const shape_t *shape, uint32_t entry, uint32_t first, uint32_t second) {
    put_moves(shape, entry, first, second);
    put_moves(shape, entry + NOISE_ENTRIES, wrap_bytes(0, first), wrap_bytes(0, second));
}

void moves_to_perturb(moves_t *moves, noise_t noise, int32_t k, uint8_t limit) {
    moves->limit = limit;
    moves->form = limit < 127 ? FREE : k != 1 && 2 * noise.r_max > 127 ? TWICE : ONCE;
    const noise4_t same = noise4_begin(&noise);
    const shape_t shape = shape_of(moves);
    for (uint32_t e = 0; e < NOISE_ENTRIES; e++) {
        const uint32_t z = noise4_next(&same, &noise);
        if (k == 1) {
            put_both(&shape, e, z, 0);
        } else {
            put_both(&shape, e, wrap_bytes(0, z), wrap_bytes(0, z));
        }
    }
}

/* The form of an update of up to `largest`. With a sign of 1, -u goes against z; else both go the same way. */
static uint8_t form_of_update(int32_t r_max, int32_t sign, int32_t largest, uint8_t limit) {
    if (limit < 127) {
        return HELD;
    }
    if (sign > 0) {
        return largest < 127 ? BACK : TWICE;
    }
    return r_max + largest <= 127 ? ONCE : TWICE;
}

void moves_to_update(moves_t *moves, noise_t noise, int32_t sign, int32_t b_zo, uint8_t limit) {
    zo_update_t update;
    zo_update_fill(&update, noise.r_max, sign, b_zo);
    moves->limit = limit;
    moves->form = form_of_update(noise.r_max, sign, update.largest, limit);
    const noise4_t same = noise4_begin(&noise);
    const shape_t shape = shape_of(moves);
    for (uint32_t e = 0; e < NOISE_ENTRIES; e++) {
        const uint32_t z = noise4_next(&same, &noise);
        put_both(&shape, e, z, zo_update_of_four(&update, z));
    }
}

typedef struct {
    const uint32_t *first, *second;
} words_t;

static inline uint32_t moved(uint32_t w, uint32_t field, const words_t *words, uint32_t form, const held_t *held) {
    const uint32_t move = words->first[field];
    switch (form) {
    case FREE: return unwrap_bytes(w, move);
    case ONCE: return add_bytes(add_bytes(w, move), ONES);
    case BACK: return add_bytes(add_bytes(w, move), words->second[field]);
    case TWICE: w = add_bytes(add_bytes(w, move), ONES); return add_bytes(add_bytes(w, words->second[field]), ONES);
    default:
        w = add_bytes(unwrap_bytes(w, move), held->to_top);
        return unwrap_bytes(subtract_bytes(w, held->to_bottom), held->back);
    }
}

static inline int8_t *move_pair(int8_t *weights, uint32_t a, uint32_t b, const words_t *words, uint32_t form,
                                const held_t *held) {
    uint32_t w[2];
    load_two(weights, w);
    w[0] = moved(w[0], a, words, form, held);
    w[1] = moved(w[1], b, words, form, held);
    return put_two(weights, w);
}

/* 24 weights at a time, by two words of the stream. */
static inline void move_all(int8_t *weights, uint32_t n, uint32_t state, const words_t *words, uint32_t form,
                            const held_t *held) {
    const held_t limits = *held;
    const words_t both = *words;
    for (const int8_t *end = weights + n / 24 * 24; weights != end;) {
        const uint32_t first = xorshift32(state), second = xorshift32(first);
        state = second;
        weights = move_pair(weights, noise_field(first, 0), noise_field(first, 1), &both, form, &limits);
        weights = move_pair(weights, noise_field(first, 2), noise_field(second, 0), &both, form, &limits);
        weights = move_pair(weights, noise_field(second, 1), noise_field(second, 2), &both, form, &limits);
    }
    for (n %= 24; n > 0;) {
        state = xorshift32(state);
        for (uint32_t j = 0; j < NOISE_GROUPS && n > 0; j++) {
            const uint32_t taken = n < 4 ? n : 4;
            int8_t group[4] = {0};
            memcpy(group, weights, taken);
            store_word(group, moved(load_word(group), noise_field(state, j), &both, form, &limits));
            memcpy(weights, group, taken);
            weights += taken;
            n -= taken;
        }
    }
}

/* The form is known to the compiler from here on. */
void move_s8(int8_t *weights, uint32_t n, uint32_t state, const moves_t *moves) {
    const held_t held = {
        .to_top = four_times(127 - moves->limit),
        .to_bottom = four_times(255 - 2 * moves->limit),
        .back = four_times(128 - moves->limit),
    };
    const words_t words = {.first = moves->words, .second = moves->words + NOISE_FIELDS};
    switch (moves->form) {
    case FREE: move_all(weights, n, state, &words, FREE, &held); break;
    case ONCE: move_all(weights, n, state, &words, ONCE, &held); break;
    case BACK: move_all(weights, n, state, &words, BACK, &held); break;
    case TWICE: move_all(weights, n, state, &words, TWICE, &held); break;
    default: move_all(weights, n, state, &words, HELD, &held); break;
    }
}

#elif !KERNELS_THUMB1 /* else move_s8_m0.c */

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
