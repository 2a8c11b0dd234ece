/* Forward passes (docs/arithmetic.md, section 4); a convolution also hands errors on (section 7). */
#include <stdlib.h>

#include "dots.h"

const char *native_name(void) {
#ifdef __AVX512VNNI__
    return "C, AVX-512 VNNI";
#else
    return "C, AVX2";
#endif
}

/* Weights as `dots` takes them: for each LANES outputs rows of words, and what takes RAISE off. Where few outputs leave
 * lanes over, the lanes hold `folded` neighbouring places of all outputs, the weights of each moved on by a place. */
typedef struct {
    int32_t groups, folded, rows, quads;
    int8_t *lanes;
    int32_t *start;
} Packed;

/* Put a row of one lane's weights into its words, `behind` bytes on. */
static void pack_row(const int8_t *from, int64_t bytes, int64_t behind, int8_t *to) {
    int64_t i = 0;
    if (behind % QUAD == 0)
        for (; i + QUAD <= bytes; i += QUAD)
            memcpy(to + (i + behind) * LANES, from + i, QUAD);
    for (; i < bytes; i++)
        to[(i + behind) / QUAD * (LANES * QUAD) + (i + behind) % QUAD] = from[i];
}

static int pack(Packed *packed, const int8_t *weights, int64_t outputs, int32_t rows, int64_t row_bytes, int32_t folded,
                int64_t place) {
    packed->folded = folded;
    packed->rows = rows;
    packed->groups = (int32_t)((outputs + LANES - 1) / LANES);
    packed->quads = (int32_t)((row_bytes + (folded - 1) * place + QUAD - 1) / QUAD);
    size_t row = (size_t)packed->quads * LANES * QUAD, group = row * (size_t)rows;
    packed->lanes = calloc((size_t)packed->groups, group);
    packed->start = calloc((size_t)packed->groups, LANES * sizeof(int32_t));
    if (!packed->lanes || !packed->start)
        return -1;
    for (int32_t fold = 0; fold < folded; fold++)
        for (int64_t output = 0; output < outputs; output++) {
            int64_t lane = fold * outputs + output, sum = 0;
            int8_t *to = packed->lanes + (size_t)(lane / LANES) * group + (lane % LANES) * QUAD;
            const int8_t *from = weights + output * rows * row_bytes;
            for (int64_t i = 0; i < rows * row_bytes; i++)
                sum += from[i];
            for (int32_t r = 0; r < rows; r++, to += row, from += row_bytes)
                pack_row(from, row_bytes, fold * place, to);
            packed->start[lane] = (int32_t)(-RAISE * sum);
        }
    return 0;
}

static void drop(Packed *packed) {
    free(packed->lanes);
    free(packed->start);
}

static Product group_of(const Packed *packed, int32_t group, ptrdiff_t pitch) {
    size_t size = (size_t)packed->rows * (size_t)packed->quads * LANES * QUAD;
    return (Product){packed->rows, packed->quads, pitch, packed->lanes + (size_t)group * size,
                     packed->start + group * LANES};
}

static int bits(uint32_t m) {
    return m ? 32 - __builtin_clz(m) : 0;
}

static uint32_t magnitude(int32_t value) {
    return value < 0 ? 0u - (uint32_t)value : (uint32_t)value;
}

/* Return how far sums have to be shifted to fit int8. */
static int shift_of(const int32_t *sums, int64_t count) {
    uint32_t largest = 0;
    for (int64_t i = 0; i < count; i++) {
        uint32_t m = magnitude(sums[i]);
        largest = m > largest ? m : largest;
    }
    int shift = bits(largest) - 7;
    return shift > 0 ? shift : 0;
}

static void requantize(const int32_t *sums, int64_t count, int shift, int relu, int8_t *out) {
    uint32_t half = shift ? 1u << (shift - 1) : 0;
    if (relu)
        for (int64_t i = 0; i < count; i++) {
            uint32_t m = ((uint32_t)(sums[i] > 0 ? sums[i] : 0) + half) >> shift;
            out[i] = (int8_t)(m > 127 ? 127 : m);
        }
    else
        for (int64_t i = 0; i < count; i++) {
            uint32_t m = (magnitude(sums[i]) + half) >> shift;
            int32_t small = (int32_t)(m > 127 ? 127 : m);
            out[i] = (int8_t)(sums[i] < 0 ? -small : small);
        }
}

/* Max-pool sums [height, width, channels]. Each place is written LANES channels wide: what is too much is overwritten by
 * the next place, and later by the channels before; so both hold LANES more than their sums. */
static void pool_sums(int32_t height, int32_t width, int32_t channels, int32_t k, const int32_t *sums, int32_t *out) {
    ptrdiff_t row = (ptrdiff_t)width * channels;
    int32_t places = width / k;
    for (int32_t first = (channels - 1) / LANES * LANES; first >= 0; first -= LANES)
        for (int32_t y = 0; y < height / k; y++)
            for (int32_t place = 0; place < places; place++) {
                const int32_t *window = sums + y * k * row + (ptrdiff_t)place * k * channels + first;
                Sums best = load_sums(window);
                for (int32_t dy = 0; dy < k; dy++)
                    for (int32_t dx = 0; dx < k; dx++)
                        best = larger(best, load_sums(window + dy * row + dx * channels));
                store_sums(out + ((ptrdiff_t)y * places + place) * channels + first, best);
            }
}

int native_conv(const Conv *conv, const int8_t *weights, int64_t weight_exp, int64_t batch, const int8_t *x,
                const int64_t *exponents, int8_t *out, int64_t *out_exponents) {
    int32_t out_h = conv->height + 2 * conv->above - conv->kh + 1, out_w = conv->width + 2 * conv->left - conv->kw + 1;
    int32_t outputs = conv->outputs, channels = conv->channels, k = conv->pool;
    int32_t folded = outputs > LANES ? 1 : LANES / outputs;
    if (folded > out_w)
        folded = out_w;
    ptrdiff_t pitch = (ptrdiff_t)(conv->width + 2 * conv->left + folded) * channels + QUAD,
              row = (ptrdiff_t)conv->width * channels;
    int64_t count = (int64_t)out_h * out_w * outputs, pooled = (int64_t)(out_h / k) * (out_w / k) * outputs;
    size_t bytes = (size_t)pitch * (size_t)(conv->height + 2 * conv->above),
           slack = 2 * LANES + (size_t)folded * (size_t)outputs;
    int64_t size = conv->height * row;
    uint8_t *padded = malloc(bytes), *raised = malloc((size_t)size);
    int32_t *sums = malloc(2 * ((size_t)count + slack) * sizeof *sums);
    Packed packed;
    int failed = pack(&packed, weights, outputs, conv->kh, (int64_t)conv->kw * channels, folded, channels) || !padded ||
                 !raised || !sums;
    if (!failed) {
        int32_t *pool_out = sums + count + slack;
        memset(padded, RAISE, bytes);
        for (int64_t sample = 0; sample < batch; sample++, x += size, out += pooled) {
            raise_values(x, size, raised);
            for (int32_t y = 0; y < conv->height; y++)
                memcpy(padded + (y + conv->above) * pitch + conv->left * channels, raised + y * row, (size_t)row);
            for (int32_t group = packed.groups - 1; group >= 0;
                 group--) { /* the last one, whose lanes are too many, first */
                Product with = group_of(&packed, group, pitch);
                for (int32_t y = 0; y < out_h; y++)
                    dots((out_w + folded - 1) / folded, &with, padded + y * pitch, folded * channels,
                         sums + (size_t)y * out_w * outputs + group * LANES, folded * outputs);
            }
            int shift = shift_of(sums, count);
            if (k > 1)
                pool_sums(out_h, out_w, outputs, k, sums, pool_out);
            requantize(k > 1 ? pool_out : sums, pooled, shift, conv->relu, out);
            out_exponents[sample] = exponents[sample] + weight_exp + shift;
        }
    }
    drop(&packed);
    free(sums);
    free(raised);
    free(padded);
    return failed ? -1 : 0;
}

int native_dense(int64_t inputs, int64_t outputs, int relu, const int8_t *weights, int64_t weight_exp, int64_t batch,
                 const int8_t *x, const int64_t *exponents, int8_t *out, int64_t *out_exponents) {
    enum { SOME = 64 }; /* samples at a time, so that they stay in the cache */
    ptrdiff_t step = (ptrdiff_t)((inputs + QUAD - 1) / QUAD * QUAD);
    uint8_t *raised = calloc(SOME, (size_t)step);
    int32_t *sums = malloc((SOME * (size_t)outputs + LANES) * sizeof *sums);
    Packed packed;
    int failed = pack(&packed, weights, outputs, 1, inputs, 1, 0) || !raised || !sums;
    for (int64_t first = 0; !failed && first < batch; first += SOME) {
        int64_t some = batch - first < SOME ? batch - first : SOME;
        for (int64_t i = 0; i < some; i++)
            raise_values(x + (first + i) * inputs, inputs, raised + i * step);
        for (int32_t group = packed.groups - 1; group >= 0; group--) {
            Product with = group_of(&packed, group, 0);
            dots(some, &with, raised, step, sums + group * LANES, outputs);
        }
        for (int64_t i = 0; i < some; i++) {
            int shift = shift_of(sums + i * outputs, outputs);
            requantize(sums + i * outputs, outputs, shift, relu, out + (first + i) * outputs);
            out_exponents[first + i] = exponents[first + i] + weight_exp + shift;
        }
    }
    drop(&packed);
    free(sums);
    free(raised);
    return failed ? -1 : 0;
}
