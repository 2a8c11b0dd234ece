#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/dsp_multiply.h"
#include "kernels/tflite_block_s8.h"

enum { CHANNELS = 4 }; /* that share a call: few enough for the sums to lie on the stack, enough to pay for the call */

/* The inputs of two positions are spread to 16-bit lanes once for all channels, and laid out in the order of their use: for every
   four taps the even and odd lanes of the first position, then of the second. Behind the last tap there are zeros. */
enum { PAIR_WORDS = 4 };

static inline uint32_t fours_of(uint32_t taps) {
    return (taps + 3) / 4;
}

uint64_t tflite_block_s8_scratch(uint32_t taps) {
    return (uint64_t)tflite_block_positions(taps) / 2 * fours_of(taps) * PAIR_WORDS * sizeof(uint32_t);
}

/* One to three bytes, and zeros. */
static inline uint32_t load_some(const int8_t *bytes, uint32_t n) {
    uint32_t word = 0;
    for (uint32_t i = 0; i < n; i++) {
        word |= ((uint32_t)bytes[i] & 0xFFu) << (8 * i);
    }
    return word;
}

static inline void store_lanes(uint32_t word, uint32_t *lanes) {
    lanes[0] = even_lanes(word);
    lanes[1] = odd_lanes(word);
}

static void spread(const int8_t *in0, const int8_t *in1, uint32_t taps, uint32_t *lanes) {
    for (; taps >= 4; taps -= 4, in0 += 4, in1 += 4, lanes += PAIR_WORDS) {
        store_lanes(load_word(in0), lanes);
        store_lanes(load_word(in1), lanes + 2);
    }
    if (taps > 0) {
        store_lanes(load_some(in0, taps), lanes);
        store_lanes(load_some(in1, taps), lanes + 2);
    }
}

/* Two positions by two channels. */
typedef struct {
    const uint32_t *lanes;
    const int8_t *w0, *w1;
    int32_t s00, s01, s10, s11; /* channel, position */
} two_by_two_t;

static inline void four_products(two_by_two_t *b, uint32_t w0, uint32_t w1) {
    uint32_t even0, odd0, even1, odd1;
    next_words(&b->lanes, &even0, &odd0);
    next_words(&b->lanes, &even1, &odd1);
    uint32_t even = even_lanes(w0), odd = odd_lanes(w0);
    b->s00 = add_products(add_products(b->s00, even0, even), odd0, odd);
    b->s01 = add_products(add_products(b->s01, even1, even), odd1, odd);
    even = even_lanes(w1);
    odd = odd_lanes(w1);
    b->s10 = add_products(add_products(b->s10, even0, even), odd0, odd);
    b->s11 = add_products(add_products(b->s11, even1, even), odd1, odd);
}

static inline void four_taps(two_by_two_t *b) {
    hold_loads();
    const uint32_t w0 = load_word(b->w0), w1 = load_word(b->w1);
    b->w0 += 4;
    b->w1 += 4;
    four_products(b, w0, w1);
}

static inline void all_taps(two_by_two_t *b, uint32_t taps) {
    for (uint32_t i = taps / 16; i > 0; i--) {
        four_taps(b);
        four_taps(b);
        four_taps(b);
        four_taps(b);
    }
    for (uint32_t i = taps % 16; i >= 4; i -= 4) {
        four_taps(b);
    }
    if (taps % 4 != 0) {
        four_products(b, load_some(b->w0, taps % 4), load_some(b->w1, taps % 4));
    }
}

/* What both channels of a row are made of. */
typedef struct {
    const uint32_t *lanes;
    const int8_t *w0, *w1;
    int32_t *sums0, *sums1;
} row_t;

static inline void two_channels(row_t row, uint32_t positions, uint32_t taps) {
    two_by_two_t b = {.lanes = row.lanes};
    for (const int32_t *const end = row.sums0 + positions / 2 * 2; row.sums0 != end; row.sums0 += 2, row.sums1 += 2) {
        b.w0 = row.w0;
        b.w1 = row.w1;
        b.s00 = b.s01 = b.s10 = b.s11 = 0;
        all_taps(&b, taps);
        row.sums0[0] = b.s00;
        row.sums0[1] = b.s01;
        row.sums1[0] = b.s10;
        row.sums1[1] = b.s11;
    }
    if (positions % 2 != 0) {
        b.w0 = row.w0;
        b.w1 = row.w1;
        b.s00 = b.s01 = b.s10 = b.s11 = 0;
        all_taps(&b, taps);
        row.sums0[0] = b.s00;
        row.sums1[0] = b.s10;
    }
}

/* Each kind of row has its registers for itself. */
#define APART __attribute__((noinline)) static

APART void sixteen_taps(const row_t *row, uint32_t positions) {
    two_channels(*row, positions, 16);
}

APART void whole_sixteens(const row_t *row, uint32_t positions, uint32_t taps) {
    two_channels(*row, positions, taps / 16 * 16);
}

APART void any_taps(const row_t *row, uint32_t positions, uint32_t taps) {
    two_channels(*row, positions, taps);
}

/* sums[c * positions + p] of `channels` channels. An odd last channel is computed twice. */
static void row_sums(const uint32_t *lanes, uint32_t positions, const int8_t *weights, uint32_t taps, uint32_t channels,
                     int32_t *sums) {
    for (uint32_t c = 0; c < channels; c += 2) {
        const uint32_t next = c + 1 < channels ? c + 1 : c;
        const row_t row = {.lanes = lanes, .w0 = weights + c * taps, .w1 = weights + next * taps,
                           .sums0 = sums + c * positions, .sums1 = sums + next * positions};
        if (taps == 16) {
            sixteen_taps(&row, positions);
        } else if (taps % 16 == 0) {
            whole_sixteens(&row, positions, taps);
        } else {
            any_taps(&row, positions, taps);
        }
    }
}

void tflite_block_s8(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *weights, uint32_t taps, uint32_t channels,
                     const tflite_layer_t *layer, int8_t *scratch, int8_t *out) {
    uint32_t *lanes = (uint32_t *)(void *)scratch;
    for (uint32_t p = 0; p < positions; p += 2) {
        const uint32_t next = p + 1 < positions ? p + 1 : p; /* an odd last position is paired with itself */
        spread(in + p * step, in + next * step, taps, lanes + p / 2 * fours_of(taps) * PAIR_WORDS);
    }
    for (uint32_t o = 0; o < channels; o += CHANNELS) {
        const uint32_t n = channels - o < CHANNELS ? channels - o : CHANNELS;
        int32_t sums[CHANNELS * TFLITE_BLOCK];
        row_sums(lanes, positions, weights + o * taps, taps, n, sums);
        layer->requantize(sums, positions, o, n, layer, channels, out + o);
    }
}

#endif
