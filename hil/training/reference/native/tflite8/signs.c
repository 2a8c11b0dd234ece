/* Streams of Rademacher numbers, and what they move. */
#include "signs.h"

static uint32_t xorshift32(uint32_t state) {
    state ^= state << 13;
    state ^= state >> 17;
    return state ^ state << 5;
}

static uint32_t mix32(uint32_t h) {
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    return h ^ h >> 16;
}

uint32_t start(uint32_t seed, uint32_t step, uint32_t number) {
    uint32_t key = mix32(seed + 0x9E3779B9u * (step + 1)), state = mix32(key ^ 0x27D4EB2Fu * number);
    return state ? state : 0x6D2B79F5u;
}

void make_draws(Draws *draws) {
    for (int byte = 0; byte < 4; byte++)
        for (int bit = 0; bit < 8; bit++) {
            uint32_t state = (uint32_t)1 << (8 * byte + bit), low = 0;
            for (int at = 0; at < DRAWS; at++) {
                state = xorshift32(state);
                low |= (state & 1) << at;
            }
            draws->low_bits[byte][0] = draws->jump[byte][0] = 0;
            for (int below = 0; below < 1 << bit; below++) {
                draws->low_bits[byte][(1 << bit) + below] = draws->low_bits[byte][below] ^ low;
                draws->jump[byte][(1 << bit) + below] = draws->jump[byte][below] ^ state;
            }
        }
}

INLINE uint32_t mapped(const uint32_t map[4][256], uint32_t state) {
    return map[0][state & 255] ^ map[1][state >> 8 & 255] ^ map[2][state >> 16 & 255] ^ map[3][state >> 24];
}

void draw(const Draws *draws, uint32_t state, ptrdiff_t count, uint32_t *bits) {
    for (ptrdiff_t word = 0; word < words_of(count); word++, state = mapped(draws->jump, state))
        bits[word] = mapped(draws->low_bits, state);
}

/* Return SHORTS bits; `at` is a multiple of SHORTS. */
INLINE uint32_t bits_at(const uint32_t *bits, ptrdiff_t at) {
    return bits[at / DRAWS] >> at % DRAWS;
}

/* Return SHORTS numbers, 1 or -1. */
INLINE Shorts numbers_at(const uint32_t *bits, ptrdiff_t at) {
    return mask_of(bits_at(bits, at)) | 1;
}

void move_weights(const int8_t *from, ptrdiff_t count, const uint32_t *bits, int sign, int16_t *to) {
    const Shorts signs = all_shorts(sign);
    ptrdiff_t at = 0;
    for (; at + SHORTS <= count; at += SHORTS) {
        *(Shorts *)(to + at) = widened_bytes(from + at) + numbers_at(bits, at) * signs;
    }
    for (; at < count; at++)
        to[at] = (int16_t)(from[at] + (bits[at / DRAWS] >> at % DRAWS & 1 ? -sign : sign));
}

void move_biases(const Layer *layer, const uint32_t *bits, ptrdiff_t first, int sign, int32_t *to) {
    for (int32_t channel = 0; channel < layer->outputs; channel++) {
        const ptrdiff_t at = first + channel;
        const int32_t step = sign * (1 << bias_step(layer, channel));
        to[channel] = layer->bias[channel] + (bits[at / DRAWS] >> at % DRAWS & 1 ? -step : step);
    }
}

void move_nodes(const Layer *layer, const int16_t *from, const uint32_t *bits, int16_t *to) {
    const Shorts low = all_shorts(layer->low), high = all_shorts(layer->high);
    const ptrdiff_t size = out_size(layer);
    for (ptrdiff_t at = 0; at < size; at += SHORTS) {
        Shorts own = load(from + at), inside = (Shorts)((own > low) & (own < high));
        store_some(to + at, own + (numbers_at(bits, at) & inside), size - at);
    }
}

/* A draw adds delta, or, where its bit is 1, takes it away: the sum of all less twice the sum of these. */
void signed_sums(int32_t queries, const int32_t *deltas, const uint32_t *bits, ptrdiff_t words, ptrdiff_t count,
                 int32_t *sums) {
    int32_t all = 0;
    for (int32_t query = 0; query < queries; query++)
        all += deltas[query];
    for (ptrdiff_t word = 0; word < words_of(count); word++) {
        Words taken[DRAWS / LANES] = {{0}};
        for (int32_t query = 0; query < queries; query++) {
            const uint32_t its = bits[query * words + word];
            const Words delta = all_words(deltas[query]);
            for (int part = 0; part < DRAWS / LANES; part++)
                taken[part] = add_where(taken[part], its >> LANES * part, delta);
        }
        int32_t found[DRAWS];
        for (int part = 0; part < DRAWS / LANES; part++)
            *(Words *)(found + part * LANES) = all - 2 * taken[part];
        const ptrdiff_t first = word * DRAWS, some = count - first < DRAWS ? count - first : DRAWS;
        memcpy(sums + first, found, (size_t)some * sizeof *sums);
    }
}
