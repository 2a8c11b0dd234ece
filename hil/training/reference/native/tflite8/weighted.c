/* Layers with weights: pairs of int16 times pairs of int16, in int32. */
#include "kernels.h"

enum { POSITIONS = LANES / 2, PAIR = 2 }; /* positions of a block: with SHORTS channels their sums fit the registers */

/* What the positions of a row of outputs have in common. */
typedef struct {
    const Prepared *prepared;
    ptrdiff_t outputs;   /* numbers from position to position of the output */
    int32_t runs, pairs; /* of taps */
    int32_t rounding;
    Shorts low, high;       /* limits of the output */
    ptrdiff_t pitch, step;  /* numbers from run to run, from position to position */
    const int16_t *weights; /* of a block of channels */
    const int32_t *bias;
    const Factors *factors;
    int32_t channels; /* that are left from the first one of the block on */
} Block;

const int16_t *windows_of(const Prepared *prepared, const int16_t *x, int16_t *padded) {
    const Layer *layer = prepared->layer;
    if (!prepared->padded)
        return x;
    const ptrdiff_t row = (ptrdiff_t)prepared->span_x * layer->channels;
    const int32_t rows = prepared->span_y - layer->padding_y, columns = prepared->span_x - layer->padding_x;
    const int32_t height = rows < layer->height ? rows : layer->height;
    const int32_t width = columns < layer->width ? columns : layer->width;
    memset(padded, 0, (size_t)padded_size(prepared) * sizeof *padded);
    int16_t *inside = padded + layer->padding_y * row + (ptrdiff_t)layer->padding_x * layer->channels;
    for (int32_t y = 0; y < height; y++)
        memcpy(inside + y * row, x + (ptrdiff_t)y * layer->width * layer->channels,
               (size_t)width * (size_t)layer->channels * sizeof *padded);
    return padded;
}

/* Write the outputs of some positions, of one or two vectors of channels, whose form of `rescale` is known. */
INLINE void finish_as(const Block *block, const int form, const int vectors, const int positions, Words sums[][2],
                      int16_t *out) {
    const ptrdiff_t count = block->channels;
    for (int p = 0; p < positions; p++, out += block->outputs) {
        Words low = rescaled(sums[p][0], block->factors, form, block->rounding);
        if (vectors == 2) {
            Words high = rescaled(sums[p][1], block->factors + 1, form, block->rounding);
            store_some(out, clamped(packed(low, high), block->low, block->high), count);
        } else {
            store_half(out, clamped(packed_half(low), block->low, block->high), count);
        }
    }
}

INLINE void finish(const Block *block, const int vectors, const int positions, Words sums[][2], int16_t *out) {
    switch (block->prepared->form) {
    case RIGHT: finish_as(block, RIGHT, vectors, positions, sums, out); break;
    case ANY_DOUBLE: finish_as(block, ANY_DOUBLE, vectors, positions, sums, out); break;
    case ANY_SINGLE: finish_as(block, ANY_SINGLE, vectors, positions, sums, out); break;
    default: finish_as(block, EXACT, vectors, positions, sums, out); break;
    }
}

INLINE void some_products(const Block *block, const int vectors, const int positions, const int16_t *x, int16_t *out) {
    const int16_t *weights = block->weights;
    Words sums[POSITIONS][2];
    for (int p = 0; p < positions; p++)
        for (int v = 0; v < vectors; v++)
            sums[p][v] = load_words(block->bias + v * LANES);
    for (int32_t run = 0; run < block->runs; run++) {
        const int16_t *own = x + run * block->pitch;
        for (int32_t pair = 0; pair < block->pairs; pair++, own += PAIR, weights += vectors * SHORTS) {
            Words these[2];
            for (int v = 0; v < vectors; v++)
                these[v] = kept((Words)load(weights + v * SHORTS));
            for (int p = 0; p < positions; p++) {
                Words two = pair_of(own + p * block->step);
                for (int v = 0; v < vectors; v++)
                    sums[p][v] = add_products(sums[p][v], two, these[v]);
            }
        }
    }
    finish(block, vectors, positions, sums, out);
}

INLINE void row_of_products(const Block *block, const int vectors, ptrdiff_t positions, const int16_t *x,
                            int16_t *out) {
    const ptrdiff_t outputs = block->outputs;
    for (; positions >= POSITIONS; positions -= POSITIONS, x += POSITIONS * block->step, out += POSITIONS * outputs)
        some_products(block, vectors, POSITIONS, x, out);
    for (; positions >= 4; positions -= 4, x += 4 * block->step, out += 4 * outputs)
        some_products(block, vectors, 4, x, out);
    for (; positions >= 2; positions -= 2, x += 2 * block->step, out += 2 * outputs)
        some_products(block, vectors, 2, x, out);
    if (positions)
        some_products(block, vectors, 1, x, out);
}

/* As `some_products`, each channel by itself. */
INLINE void some_channels(const Block *block, const int vectors, const int positions, const int16_t *x, int16_t *out) {
    const int16_t *weights = block->weights;
    const ptrdiff_t *tap = block->prepared->taps;
    Words sums[POSITIONS][2];
    for (int p = 0; p < positions; p++)
        for (int v = 0; v < vectors; v++)
            sums[p][v] = load_words(block->bias + v * LANES);
    for (int32_t pair = 0; pair < block->pairs; pair++, tap += PAIR, weights += vectors * SHORTS) {
        Words these[2];
        for (int v = 0; v < vectors; v++)
            these[v] = kept((Words)load(weights + v * SHORTS));
        for (int p = 0; p < positions; p++) {
            Shorts one = load(x + tap[0] + p * block->step), other = load(x + tap[1] + p * block->step);
            if (vectors == 2) {
                Pairs pairs = paired(one, other);
                sums[p][0] = add_products(sums[p][0], pairs.low, these[0]);
                sums[p][1] = add_products(sums[p][1], pairs.high, these[1]);
            } else {
                sums[p][0] = add_products(sums[p][0], paired_half(one, other), these[0]);
            }
        }
    }
    finish(block, vectors, positions, sums, out);
}

INLINE void row_of_channels(const Block *block, const int vectors, ptrdiff_t positions, const int16_t *x,
                            int16_t *out) {
    const ptrdiff_t outputs = block->outputs;
    for (; positions >= POSITIONS; positions -= POSITIONS, x += POSITIONS * block->step, out += POSITIONS * outputs)
        some_channels(block, vectors, POSITIONS, x, out);
    for (; positions >= 4; positions -= 4, x += 4 * block->step, out += 4 * outputs)
        some_channels(block, vectors, 4, x, out);
    for (; positions >= 2; positions -= 2, x += 2 * block->step, out += 2 * outputs)
        some_channels(block, vectors, 2, x, out);
    if (positions)
        some_channels(block, vectors, 1, x, out);
}

/* Write rows of outputs of one block of channels. */
static void run_block(const Block *given, const int vectors, int32_t rows, ptrdiff_t positions, ptrdiff_t across,
                      const int16_t *x, int16_t *out) {
    const Block own = *given, *block = &own; /* outputs that are written cannot be among these numbers */
    const int channels = block->prepared->layer->operation == DEPTHWISE;
    for (int32_t y = 0; y < rows; y++, x += across, out += positions * block->outputs) {
        if (channels && vectors == 2)
            row_of_channels(block, 2, positions, x, out);
        else if (channels)
            row_of_channels(block, 1, positions, x, out);
        else if (vectors == 2)
            row_of_products(block, 2, positions, x, out);
        else
            row_of_products(block, 1, positions, x, out);
    }
}

/* Write all channels of rows of outputs, `positions` in each. */
static void run_rows(const Prepared *prepared, Own own, Block block, int32_t rows, ptrdiff_t positions,
                     ptrdiff_t across, const int16_t *x, int16_t *out) {
    const ptrdiff_t of_vector = (ptrdiff_t)prepared->runs * prepared->pairs * SHORTS;
    for (int32_t vector = 0; vector < prepared->vectors; vector += 2) {
        const int32_t first = vector * LANES;
        block.weights = own.weights + vector * of_vector;
        block.bias = own.bias + first;
        block.factors = prepared->factors + vector;
        block.channels = prepared->layer->outputs - first;
        const int16_t *from = prepared->layer->operation == DEPTHWISE ? x + first : x;
        run_block(&block, vectors_of(prepared, vector), rows, positions, across, from, out + first);
    }
}

void run_weighted(const Prepared *prepared, Own own, int32_t passes, Value x, int16_t *padded, int16_t *out) {
    const Layer *layer = prepared->layer;
    const int windows = layer->operation == CONV2D || layer->operation == DEPTHWISE;
    const ptrdiff_t width = prepared->padded ? prepared->span_x : layer->width;
    Block block = {.prepared = prepared,
                   .outputs = layer->outputs,
                   .runs = prepared->runs,
                   .pairs = prepared->pairs,
                   .rounding = layer->rounding,
                   .low = all_shorts(layer->low),
                   .high = all_shorts(layer->high),
                   .pitch = width * layer->channels,
                   .step = (ptrdiff_t)layer->stride_x * layer->channels};
    if (!windows) { /* all positions of all passes are one row */
        block.step = layer->channels;
        run_rows(prepared, own, block, 1, passes * out_positions(layer), 0, x.numbers, out);
        return;
    }
    const ptrdiff_t across = layer->stride_y * block.pitch;
    for (int32_t pass = 0; pass < passes; pass++)
        run_rows(prepared, own, block, layer->out_height, layer->out_width, across,
                 windows_of(prepared, x.numbers + pass * x.pass, padded), out + pass * out_size(layer));
}
