/* Normal random numbers, perturbation and updates (docs/arithmetic-float32.md, sections 6 and 7). */
#include "float32.h"

enum {
    KNOTS = 256,
    FRACTION = 14, /* bits of the place between two knots */
    BLOCK = 256
};

/* A knot of T, and how far the next one lies below it. */
typedef struct {
    int32_t height, drop;
} Knot;

INLINE Words mix32(Words h) {
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    return h ^ h >> 16;
}

/* Return the exponents of the highest set bits of odd numbers, without a count of zeros, which not every processor has
 * for vectors. Where the bit below that one is 0, rounding to binary32 never reaches the next power of two. */
INLINE Words highest_bits(Words q) {
    Words half = q >> 1;
    Words exponents = (Words) __builtin_convertvector((Masks)(half & ~(half >> 1)), Floats) >> 23;
    return (exponents - 126) & (Words)(half != 0); /* that of half is one less, and it starts from 127 */
}

/* Draw the words of `BLOCK` numbers: where each lies in T, how far behind that knot, and its sign in bit 0. */
INLINE void draw(uint32_t start, uint32_t first, uint32_t *words, uint32_t *knots, uint32_t *fractions) {
    for (uint32_t i = 0; i < BLOCK; i += LANES) {
        Words h = mix32(start ^ 0x9E3779B9u * (first + i + LANE)), top = highest_bits(h | 1);
        Words m = (h | 1) << (31 - top);
        *(Words *)(words + i) = h;
        *(Words *)(knots + i) = 8 * top + (m >> 28 & 7);
        *(Words *)(fractions + i) = m >> (28 - FRACTION) & ((1 << FRACTION) - 1);
    }
}

/* `knots` is T; the numbers have the unit 2^-21. */
void float32_normals(uint32_t start, const int32_t *knots, int64_t size, float *z) {
    Knot table[KNOTS];
    uint32_t words[BLOCK], places[BLOCK], fractions[BLOCK];
    for (int j = 0; j < KNOTS; j++)
        table[j] = (Knot){knots[j], knots[j] - knots[j + 1]};
    for (int64_t first = 0; first < size; first += BLOCK) {
        draw(start, (uint32_t)first, words, places, fractions);
        for (int64_t i = 0; i < BLOCK && first + i < size; i++) {
            Knot at = table[places[i]];
            int32_t own = at.height - (int32_t)((uint32_t)at.drop * fractions[i] >> FRACTION);
            int32_t sign = -(int32_t)(words[i] & 1);
            z[first + i] = (float)((own ^ sign) - sign);
        }
    }
}

void float32_moved(int64_t size, float c, const float *weights, const float *z, float *out) {
    for (int64_t i = 0; i < size; i++)
        out[i] = weights[i] + c * z[i];
}

void float32_lowered(int64_t size, float u, float limit, const float *weights, const float *gradient, float *out) {
    for (int64_t i = 0; i < size; i++) {
        float by = u * gradient[i];
        by = by > -limit ? by : -limit;
        by = by < limit ? by : limit;
        out[i] = weights[i] - by;
    }
}
