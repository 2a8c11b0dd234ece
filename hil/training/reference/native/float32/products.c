/* Sums of products in order (docs/arithmetic-float32.md, section 1). */
#include "products.h"

enum { VECTORS = 2 };
#ifdef __AVX512F__
enum { MOST = 8 }; /* outputs of a block: it fits 32 registers, */
#else
enum { MOST = 4 }; /* and 16 */
#endif

/* What is done with the sums of a block. */
typedef struct {
    const float *biases; /* none: the sums go on from those in `out` */
    Limits limits;
    float *out;
    ptrdiff_t pitch;
} Ends;

/* Sum up one block. `by_tap` says that the weights of an output follow each other, else those of a tap do. */
INLINE void sum_block(const int outputs, const int vectors, const int by_tap, const Products *products,
                      ptrdiff_t output, ptrdiff_t lane, const Ends *ends) {
    const ptrdiff_t of_output = by_tap ? products->output : 1, of_tap = by_tap ? 1 : products->tap;
    float *out = ends->out + output * ends->pitch + lane;
    Floats sums[MOST][VECTORS] = {0};
    if (!ends->biases)
        for (int o = 0; o < outputs; o++)
            for (int v = 0; v < vectors; v++)
                sums[o][v] = load(out + o * ends->pitch + v * LANES);
    for (int32_t run = 0; run < products->runs; run++) {
        const float *weights = products->run[run].weights + output * of_output, *x = products->run[run].x + lane;
        for (int32_t tap = 0; tap < products->taps; tap++, weights += of_tap, x += products->pitch) {
            Floats values[VECTORS];
            for (int v = 0; v < vectors; v++)
                values[v] = load(x + v * LANES);
            for (int o = 0; o < outputs; o++)
                for (int v = 0; v < vectors; v++)
                    sums[o][v] += all(weights[o * of_output]) * values[v];
        }
    }
    for (int o = 0; o < outputs; o++)
        for (int v = 0; v < vectors; v++)
            store(out + o * ends->pitch + v * LANES,
                  ends->biases ? clamped(sums[o][v] + ends->biases[output + o], ends->limits) : sums[o][v]);
}

INLINE void sum_outputs(const int vectors, const int by_tap, const Products *products, int64_t outputs, ptrdiff_t lane,
                        const Ends *ends) {
    int64_t blocks = (outputs + MOST - 1) / MOST;
    for (ptrdiff_t output = 0; blocks > 0; blocks--) {
        int64_t some = (outputs - output + blocks - 1) / blocks; /* even blocks: a short one waits for its own sums */
        switch (some) {
        case 1: sum_block(1, vectors, by_tap, products, output, lane, ends); break;
        case 2: sum_block(2, vectors, by_tap, products, output, lane, ends); break;
        case 3: sum_block(3, vectors, by_tap, products, output, lane, ends); break;
        case 4: sum_block(4, vectors, by_tap, products, output, lane, ends); break;
#ifdef __AVX512F__
        case 5: sum_block(5, vectors, by_tap, products, output, lane, ends); break;
        case 6: sum_block(6, vectors, by_tap, products, output, lane, ends); break;
        case 7: sum_block(7, vectors, by_tap, products, output, lane, ends); break;
        default: sum_block(8, vectors, by_tap, products, output, lane, ends); break;
#endif
        }
        output += some;
    }
}

static void sum_all(const Products *products, int64_t outputs, int64_t lanes, const Ends *ends) {
    ptrdiff_t lane = 0;
    if (products->tap == 1) {
        for (; lane + VECTORS * LANES <= lanes; lane += VECTORS * LANES)
            sum_outputs(VECTORS, 1, products, outputs, lane, ends);
        for (; lane + LANES <= lanes; lane += LANES)
            sum_outputs(1, 1, products, outputs, lane, ends);
    } else {
        for (; lane + VECTORS * LANES <= lanes; lane += VECTORS * LANES)
            sum_outputs(VECTORS, 0, products, outputs, lane, ends);
        for (; lane + LANES <= lanes; lane += LANES)
            sum_outputs(1, 0, products, outputs, lane, ends);
    }
}

void sum_products(const Products *products, int64_t outputs, int64_t lanes, const float *biases, Limits limits,
                  float *out, ptrdiff_t pitch) {
    sum_all(products, outputs, lanes, &(Ends){biases, limits, out, pitch});
}

void add_products(const Products *products, int64_t outputs, int64_t lanes, float *sums, ptrdiff_t pitch) {
    sum_all(products, outputs, lanes, &(Ends){.out = sums, .pitch = pitch});
}
