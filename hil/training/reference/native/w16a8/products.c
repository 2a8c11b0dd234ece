/* Sums of products and their scaling (docs/arithmetic-w16a8.md, sections 2 and 3). */
#include "products.h"

#ifdef __AVX512BW__
enum { MOST = 8 }; /* outputs of a block: it fits 32 registers, */
#else
enum { MOST = 4 }; /* and 16 */
#endif
enum { PRODUCTS = 256 }; /* that always fit in int32 */

/* A block at work. */
typedef struct {
    Sums sums[MOST];
    int64_t wide[MOST][LANES]; /* what was moved there, in the order of `sums` */
    int32_t added;             /* products in `sums` */
    int moved;
} Block;

/* Add the products of two taps, whose weights are the lower and the upper bits of a pair; if not `both`, the upper ones
 * are 0. */
INLINE void add_pair(const int outputs, const int both, const int16_t *weights, ptrdiff_t output, Shorts one,
                     Shorts other, Sums *sums) {
    Pairs pairs = paired(one, other);
    for (int o = 0; o < outputs; o++) {
        int32_t pair = 0;
        memcpy(&pair, weights + o * output, both ? 4 : 2);
        Words own = all_words(pair);
        sums[o].low = add_products(sums[o].low, pairs.low, own);
        sums[o].high = add_products(sums[o].high, pairs.high, own);
    }
}

INLINE void add_taps(const int outputs, const int16_t *weights, ptrdiff_t output, const int16_t *x, ptrdiff_t pitch,
                     int32_t taps, Sums *sums) {
    for (; taps >= 2; taps -= 2, weights += 2, x += 2 * pitch)
        add_pair(outputs, 1, weights, output, load(x), load(x + pitch), sums);
    if (taps)
        add_pair(outputs, 0, weights, output, load(x), load(x), sums);
}

/* Move the sums to 64 bits. */
INLINE void widen(const int outputs, Block *block) {
    for (int o = 0; o < outputs; o++) {
        int32_t own[LANES];
        memcpy(own, &block->sums[o], sizeof own);
        for (int lane = 0; lane < LANES; lane++)
            block->wide[o][lane] = (block->moved ? block->wide[o][lane] : 0) + own[lane];
        block->sums[o] = (Sums){0};
    }
    block->added = 0;
    block->moved = 1;
}

/* Return sat32 of the sum of two numbers. */
INLINE Words add_saturated(Words one, Words other) {
    Words sum = one + other, beyond = (~(one ^ other) & (one ^ sum)) >> 31;
    return (beyond & ((one >> 31) ^ INT32_MAX)) | (~beyond & sum);
}

/* Return sat32 of the sums plus a bias. */
INLINE Sums biased(const Block *block, int output, int32_t bias) {
    Sums sums = block->sums[output];
    if (!block->moved)
        return (Sums){add_saturated(sums.low, all_words(bias)), add_saturated(sums.high, all_words(bias))};
    int32_t own[LANES];
    memcpy(own, &sums, sizeof own);
    for (int lane = 0; lane < LANES; lane++) {
        int64_t whole = block->wide[output][lane] + own[lane] + bias;
        own[lane] = (int32_t)(whole > INT32_MAX ? INT32_MAX : whole < INT32_MIN ? INT32_MIN : whole);
    }
    memcpy(&sums, own, sizeof own);
    return sums;
}

/* Return `rescale`. */
INLINE Words rescaled(Words sums, Scaling scaling) {
    return (upper_products(sums, all_words(scaling.multiplier)) + (1 << (-scaling.shift - 2))) >> (-scaling.shift - 1);
}

INLINE void scale_block(const int outputs, const Products *products, ptrdiff_t first, ptrdiff_t lane, int64_t lanes,
                        const int32_t *biases, Scaling scaling, int16_t *out) {
    Block block;
    memset(block.sums, 0, sizeof block.sums);
    block.added = block.moved = 0;
    for (int32_t run = 0; run < products->runs; run++) {
        const int16_t *weights = products->run[run].weights + first * products->output;
        const int16_t *x = products->run[run].x + lane;
        for (int32_t tap = 0, some; tap < products->taps; tap += some) {
            some = products->taps - tap < PRODUCTS ? products->taps - tap : PRODUCTS;
            if (block.added + some > PRODUCTS)
                widen(outputs, &block);
            add_taps(outputs, weights + tap, products->output, x + tap * products->pitch, products->pitch, some,
                     block.sums);
            block.added += some;
        }
    }
    for (int o = 0; o < outputs; o++) {
        Sums sums = biased(&block, o, biases[first + o]);
        Shorts values = packed(rescaled(sums.low, scaling), rescaled(sums.high, scaling));
        store(out + (first + o) * lanes + lane, clamped(values, scaling.low, scaling.high));
    }
}

void scale_products(const Products *products, int32_t outputs, int64_t lanes, const int32_t *biases, Scaling scaling,
                    int16_t *out) {
    for (ptrdiff_t lane = 0; lane < lanes; lane += LANES) {
        int32_t blocks = (outputs + MOST - 1) / MOST;
        for (ptrdiff_t first = 0; blocks > 0; blocks--) {
            ptrdiff_t some = (outputs - first + blocks - 1) / blocks; /* even blocks: a short one waits for its sums */
            switch (some) {
            case 1: scale_block(1, products, first, lane, lanes, biases, scaling, out); break;
            case 2: scale_block(2, products, first, lane, lanes, biases, scaling, out); break;
            case 3: scale_block(3, products, first, lane, lanes, biases, scaling, out); break;
            case 4: scale_block(4, products, first, lane, lanes, biases, scaling, out); break;
#ifdef __AVX512BW__
            case 5: scale_block(5, products, first, lane, lanes, biases, scaling, out); break;
            case 6: scale_block(6, products, first, lane, lanes, biases, scaling, out); break;
            case 7: scale_block(7, products, first, lane, lanes, biases, scaling, out); break;
            default: scale_block(8, products, first, lane, lanes, biases, scaling, out); break;
#endif
            }
            first += some;
        }
    }
}
