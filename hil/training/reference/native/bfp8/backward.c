/* Weight gradients, summed over a batch (docs/arithmetic.md, section 7). */
#include <stdlib.h>

#include "dots.h"

enum { WIDE = 2 * LANES, TERMS = 4 };

typedef int8_t Narrow __attribute__((vector_size(WIDE), aligned(1), may_alias));
typedef int16_t Half __attribute__((vector_size(2 * WIDE), aligned(2), may_alias));

/* Return trunc(v / 2^s) of each lane; 31 or more leaves nothing. */
INLINE Sums cut(Sums sums, int64_t s) {
    if (s > 30)
        return sums - sums;
    return (sums + ((sums >> 31) & (int32_t)((1u << s) - 1))) >> (int32_t)s;
}

/* Return the sums of each lane within int32. */
INLINE Sums saturating_add(Sums one, Sums other) {
    Sums sum = one + other, over = ((one ^ sum) & (other ^ sum)) >> 31;
    return (sum & ~over) | (((one >> 31) ^ INT32_MAX) & over);
}

/* Shifts where a sample is added to the sum: `grow` is the shift of the sum before that, `own` that of the sample. */
typedef struct {
    int64_t grow, own;
} Shifts;

static void align(const int64_t *exponents, int64_t batch, Shifts *shifts) {
    int64_t largest = exponents[0];
    for (int64_t sample = 0; sample < batch; sample++) {
        int64_t before = largest;
        if (exponents[sample] > largest)
            largest = exponents[sample];
        shifts[sample] = (Shifts){largest - before, largest - exponents[sample]};
    }
}

/* One sample's part of a row of a fully connected layer's gradient: its error times all inputs. */
typedef struct {
    int64_t grow;
    const int8_t *x;
    int16_t error, own;
} Term;

/* Sum TERMS * WIDE inputs of a row. A product has 14 bits and is cut in 16; even and odd lanes have a sum each. */
static void row_of(const Term *terms, int64_t count, int64_t first, int32_t *out) {
    Sums even[TERMS] = {0}, odd[TERMS] = {0};
    for (const Term *term = terms; term < terms + count; term++) {
        if (term->grow)
            for (int i = 0; i < TERMS; i++) {
                even[i] = cut(even[i], term->grow);
                odd[i] = cut(odd[i], term->grow);
            }
        int16_t low = (int16_t)((1 << term->own) - 1);
        for (int i = 0; i < TERMS; i++) {
            Half product = __builtin_convertvector(*(const Narrow *)(term->x + first + i * WIDE), Half) * term->error;
            product = (product + ((product >> 15) & low)) >> term->own;
            even[i] += ((Sums)product << 16) >> 16;
            odd[i] += (Sums)product >> 16;
        }
    }
    for (int i = 0; i < TERMS; i++)
        for (int lane = 0; lane < LANES; lane++) {
            out[i * WIDE + 2 * lane] = even[i][lane];
            out[i * WIDE + 2 * lane + 1] = odd[i][lane];
        }
}

int native_dense_gradient(int64_t inputs, int64_t outputs, int64_t batch, const int8_t *errors, const int8_t *x,
                          const int64_t *exponents, int32_t *gradient) {
    int64_t block = TERMS * WIDE, step = (inputs + block - 1) / block * block;
    int8_t *padded = calloc((size_t)batch, (size_t)step);
    int32_t *row = malloc((size_t)step * sizeof *row);
    Shifts *shifts = malloc((size_t)batch * sizeof *shifts);
    Term *terms = malloc((size_t)batch * sizeof *terms);
    int failed = !padded || !row || !shifts || !terms;
    if (!failed) {
        align(exponents, batch, shifts);
        for (int64_t sample = 0; sample < batch; sample++)
            memcpy(padded + sample * step, x + sample * inputs, (size_t)inputs);
        for (int64_t output = 0; output < outputs; output++, gradient += inputs) {
            int64_t count = 0, grow = 0, left = 0;
            for (int64_t sample = 0; sample < batch; sample++) {
                int8_t error = errors[sample * outputs + output];
                grow += shifts[sample].grow;
                if (error == 0 || shifts[sample].own > 14)
                    continue; /* nothing of it is left */
                terms[count++] = (Term){grow, padded + sample * step, error, (int16_t)shifts[sample].own};
                grow = 0;
            }
            left = grow;
            for (int64_t first = 0; first < inputs; first += block)
                row_of(terms, count, first, row + first);
            if (left)
                for (int64_t i = 0; i < step; i += LANES)
                    store_sums(row + i, cut(load_sums(row + i), left));
            memcpy(gradient, row, (size_t)inputs * sizeof *row);
        }
    }
    free(terms);
    free(shifts);
    free(row);
    free(padded);
    return failed ? -1 : 0;
}

/* Write errors of LANES outputs, `place` bytes from place to place, as lanes: four neighbours in a word. */
static void error_lanes(const int8_t *errors, int32_t quads, ptrdiff_t place, int8_t *lanes) {
    for (int32_t quad = 0; quad < quads; quad++, errors += QUAD * place, lanes += LANES * QUAD) {
        Sums words = {0};
        for (int i = 0; i < QUAD; i++)
            words |= load_bytes(errors + i * place) << 8 * i;
        memcpy(lanes, &words, sizeof words);
    }
}

int native_conv_gradient(const Conv *conv, int64_t batch, const int8_t *errors, const int8_t *x,
                         const int64_t *exponents, int32_t *gradient) {
    int32_t height = conv->height + 2 * conv->above, out_h = height - conv->kh + 1, outputs = conv->outputs,
            channels = conv->channels;
    int32_t out_w = conv->width + 2 * conv->left - conv->kw + 1, quads = (out_w + QUAD - 1) / QUAD;
    int32_t groups = (outputs + LANES - 1) / LANES, taps = channels * conv->kh * conv->kw;
    ptrdiff_t pitch = conv->width + 2 * conv->left + QUAD, plane = pitch * height;
    ptrdiff_t row = (ptrdiff_t)out_w * outputs,
              wide = (ptrdiff_t)quads * QUAD * outputs; /* of errors, and filled up with 0 */
    int8_t *filled = calloc((size_t)(out_h * wide) + LANES, 1);
    int8_t *lanes = malloc((size_t)out_h * (size_t)quads * LANES * QUAD);
    int64_t size = (int64_t)conv->height * conv->width * channels;
    uint8_t *planes = malloc((size_t)(plane * channels)), *raised = malloc((size_t)size);
    int32_t *sums = malloc((size_t)conv->kw * LANES * sizeof *sums);
    int32_t *total = calloc((size_t)groups * (size_t)taps * LANES, sizeof *total);
    Shifts *shifts = malloc((size_t)batch * sizeof *shifts);
    int failed = !filled || !lanes || !planes || !raised || !sums || !total || !shifts;
    if (!failed) {
        static const uint8_t ones[QUAD] = {1, 1, 1, 1};
        int64_t words = (int64_t)groups * taps * LANES;
        align(exponents, batch, shifts);
        memset(planes, RAISE, (size_t)(plane * channels));
        for (int64_t sample = 0; sample < batch; sample++, x += size) {
            int64_t own = shifts[sample].own;
            if (shifts[sample].grow)
                for (int64_t i = 0; i < words; i += LANES)
                    store_sums(total + i, cut(load_sums(total + i), shifts[sample].grow));
            raise_values(x, size, raised);
            for (int32_t c = 0; c < channels; c++)
                for (int32_t y = 0; y < conv->height; y++) {
                    const uint8_t *from = raised + (ptrdiff_t)y * conv->width * channels + c;
                    uint8_t *to = planes + c * plane + (y + conv->above) * pitch + conv->left;
                    if (channels == 1)
                        memcpy(to, from, (size_t)conv->width);
                    else
                        for (int32_t place = 0; place < conv->width; place++)
                            to[place] = from[(ptrdiff_t)place * channels];
                }
            for (int32_t y = 0; y < out_h; y++, errors += row)
                memcpy(filled + y * wide, errors, (size_t)row);
            int32_t *at = total;
            for (int32_t group = 0; group < groups; group++) {
                Sums all = {0};
                error_lanes(filled + group * LANES, out_h * quads, outputs, lanes);
                for (int32_t i = 0; i < out_h * quads; i++)
                    all = add_products(all, ones, lanes + (ptrdiff_t)i * LANES * QUAD);
                int32_t start[LANES];
                store_sums(start, -RAISE * all);
                Product with = {out_h, quads, pitch, lanes, start};
                for (int32_t c = 0; c < channels; c++)
                    for (int32_t dy = 0; dy < conv->kh; dy++) {
                        dots(conv->kw, &with, planes + c * plane + dy * pitch, 1, sums, LANES);
                        for (int32_t dx = 0; dx < conv->kw; dx++, at += LANES)
                            store_sums(at, saturating_add(load_sums(at), cut(load_sums(sums + dx * LANES), own)));
                    }
            }
        }
        for (int32_t output = 0; output < outputs; output++)
            for (int32_t dy = 0; dy < conv->kh; dy++)
                for (int32_t dx = 0; dx < conv->kw; dx++)
                    for (int32_t c = 0; c < channels; c++)
                        *gradient++ = total[((output / LANES * channels + c) * conv->kh + dy) * conv->kw * LANES +
                                            dx * LANES + output % LANES];
    }
    free(shifts);
    free(total);
    free(sums);
    free(raised);
    free(planes);
    free(lanes);
    free(filled);
    return failed ? -1 : 0;
}
