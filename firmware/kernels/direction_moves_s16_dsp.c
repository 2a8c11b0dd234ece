#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/directions.h"
#include "kernels/dsp_multiply.h"

/* The form of the moves: how a sum is held. */
enum {
    FREE,   /* it is within the limit */
    HELD,   /* compared with the limit on both sides */
    SHIFTED /* by sums that saturate: all moves are higher by what the limit is below the largest int16 */
};

enum { LEAST_SHIFTED = 1 << 14 /* W: from -W to the least int16 is then no further than int16 goes */ };

static inline uint32_t both_lanes(int32_t value) {
    return low_lanes((uint32_t)value, (uint32_t)value);
}

static inline uint32_t two_moves(uint32_t bytes, const uint16_t *of) {
    return of[bytes & 0xFFu] | (uint32_t)of[bytes >> 8 & 0xFFu] << 16;
}

/* Make the moves, all of them higher by `raise`. */
static inline void fill(direction_moves_t *moves, uint32_t state, const int16_t of[NOISE_ENTRIES], uint32_t raise) {
    const uint16_t *lanes_of = (const uint16_t *)(const void *)of;
    int8_t *plus = (int8_t *)moves->by, *minus = (int8_t *)(moves->by + NOISE_ENTRIES);
    for (const int8_t *const end = minus; plus != end;) {
        state = xorshift32(state);
        const uint32_t first = two_moves(state, lanes_of), second = two_moves(state >> 16, lanes_of);
        const uint32_t two[2] = {add_lanes_s16(raise, first), add_lanes_s16(raise, second)};
        const uint32_t opposite[2] = {subtract_lanes_s16(raise, first), subtract_lanes_s16(raise, second)};
        plus = put_two(plus, two);
        minus = put_two(minus, opposite);
    }
}

void direction_to_perturb(direction_moves_t *moves, uint32_t state, const int16_t of[NOISE_ENTRIES]) {
    moves->form = FREE;
    fill(moves, state, of, 0);
}

static int32_t largest_of(const int16_t of[NOISE_ENTRIES]) {
    int32_t largest = 0;
    for (uint32_t i = 0; i < NOISE_ENTRIES; i++) {
        largest = of[i] > largest ? of[i] : largest;
    }
    return largest;
}

void direction_to_update(direction_moves_t *moves, uint32_t state, const int16_t of[NOISE_ENTRIES], int32_t limit) {
    const int32_t to_top = INT16_MAX - limit;
    const uint8_t shifted = limit >= LEAST_SHIFTED && largest_of(of) <= limit;
    moves->limit = limit;
    moves->form = shifted != 0 ? SHIFTED : HELD;
    fill(moves, state, of, shifted != 0 ? both_lanes(to_top) : 0);
}

/* In both lanes: the limits; and from the largest int16, which is W, down to where -W is the least, and back. */
typedef struct {
    uint32_t least, most;
    uint32_t to_bottom, back;
} held_t;

static held_t held_of(int32_t limit) {
    const int32_t to_top = INT16_MAX - limit, to_bottom = -limit - INT16_MIN;
    return (held_t){.least = both_lanes(-limit),
                    .most = both_lanes(limit),
                    .to_bottom = both_lanes(to_top + to_bottom),
                    .back = both_lanes(to_bottom)};
}

static inline uint32_t moved(uint32_t w, uint32_t by, uint32_t form, const held_t *held) {
    if (form == FREE) {
        return add_lanes_s16(w, by);
    }
    w = add_lanes_saturating(w, by);
    if (form == SHIFTED) {
        return add_lanes_s16(subtract_lanes_saturating(w, held->to_bottom), held->back);
    }
    w = where_lanes_at_least(w, held->most, held->most, w);
    return where_lanes_at_least(w, held->least, w, held->least);
}

static inline int8_t *move_four(int8_t *weights, uint32_t field, const int8_t *moves, uint32_t form,
                                const held_t *held) {
    uint32_t w[2], by[2];
    load_two(moves + 8 * field, by);
    load_two(weights, w);
    w[0] = moved(w[0], by[0], form, held);
    w[1] = moved(w[1], by[1], form, held);
    return put_two(weights, w);
}

/* Fewer than twelve weights, by one word of the stream. */
static inline void move_rest(int8_t *weights, uint32_t n, uint32_t word, const int8_t *moves, uint32_t form,
                             const held_t *held) {
    for (uint32_t j = 0; n > 0; j++) {
        const uint32_t taken = n < 4 ? n : 4;
        int8_t four[8] __attribute__((aligned(8))) = {0};
        memcpy(four, weights, 2 * taken);
        (void)move_four(four, noise_field(word, j), moves, form, held);
        memcpy(weights, four, 2 * taken);
        weights += 2 * taken;
        n -= taken;
    }
}

static inline void move_all(int16_t *weights, uint32_t n, uint32_t state, const direction_moves_t *moves,
                            uint32_t form) {
    const held_t held = held_of(moves->limit);
    const int8_t *by = (const int8_t *)moves->by;
    int8_t *at = (int8_t *)weights;
    for (const int8_t *const end = at + n / 12 * 24; at != end;) {
        state = xorshift32(state);
        at = move_four(at, noise_field(state, 0), by, form, &held);
        at = move_four(at, noise_field(state, 1), by, form, &held);
        at = move_four(at, noise_field(state, 2), by, form, &held);
    }
    move_rest(at, n % 12, xorshift32(state), by, form, &held);
}

/* The form is known to the compiler from here on. */
void direction_move_s16(int16_t *weights, uint32_t n, uint32_t state, const direction_moves_t *moves) {
    switch (moves->form) {
    case FREE: move_all(weights, n, state, moves, FREE); break;
    case SHIFTED: move_all(weights, n, state, moves, SHIFTED); break;
    default: move_all(weights, n, state, moves, HELD); break;
    }
}

#endif
