/* Max-pooling of int8 values, and the errors that pass it (docs/arithmetic.md, sections 4 and 7).
 *
 * Sixteen channels at a time. Each place of a row is written sixteen channels wide: what is too much is overwritten by
 * the next place, and later by the channels before. Samples are copied to where there is room for that.
 */
#include <stdlib.h>
#include <string.h>

#include "native.h"

enum { BYTES = 16 };

typedef int8_t Bytes __attribute__((vector_size(BYTES), aligned(1), may_alias));

static Bytes load(const int8_t *from) {
    return *(const Bytes *)from;
}

static void store(int8_t *to, Bytes bytes) {
    *(Bytes *)to = bytes;
}

/* Return the maxima of a window of `row` bytes a row, sixteen channels of it. */
static Bytes largest_of(const int8_t *window, int32_t k, ptrdiff_t row, int32_t channels) {
    Bytes best = load(window);
    for (int32_t dy = 0; dy < k; dy++)
        for (int32_t dx = 0; dx < k; dx++) {
            Bytes other = load(window + dy * row + dx * channels), more = other > best;
            best = (other & more) | (best & ~more);
        }
    return best;
}

int native_pool(int32_t height, int32_t width, int32_t channels, int32_t k, int64_t batch, const int8_t *x,
                int8_t *out) {
    ptrdiff_t row = (ptrdiff_t)width * channels, size = height * row,
              pooled = (ptrdiff_t)(height / k) * (width / k) * channels;
    int8_t *values = calloc((size_t)(size + pooled + 2 * BYTES), 1);
    if (!values)
        return -1;
    int8_t *maxima = values + size + BYTES;
    for (int64_t sample = 0; sample < batch; sample++, x += size, out += pooled) {
        memcpy(values, x, (size_t)size);
        for (int32_t first = (channels - 1) / BYTES * BYTES; first >= 0; first -= BYTES) {
            int8_t *to = maxima + first;
            for (int32_t y = 0; y < height / k; y++)
                for (int32_t place = 0; place < width / k; place++, to += channels)
                    store(to,
                          largest_of(values + y * k * row + (ptrdiff_t)place * k * channels + first, k, row, channels));
        }
        memcpy(out, maxima, (size_t)pooled);
    }
    free(values);
    return 0;
}

/* Give the errors of a row of windows, sixteen channels of them, to the first maximum of each; rows of `x` are `row`
 * bytes apart, rows of `out` `length`. */
static void unpool_row(int32_t places, int32_t channels, int32_t k, int relu, ptrdiff_t row, ptrdiff_t length,
                       const int8_t *error, const int8_t *x, int8_t *out) {
    for (int32_t place = 0; place < places; place++, error += channels) {
        ptrdiff_t at = (ptrdiff_t)place * k * channels;
        Bytes best = largest_of(x + at, k, row, channels), given = load(error);
        if (relu)
            given &= best > 0;
        for (int32_t dy = 0; dy < k; dy++)
            for (int32_t dx = 0; dx < k; dx++) {
                Bytes here = load(x + at + dy * row + dx * channels) == best;
                store(out + at + dy * length + dx * channels, given & here);
                given &= ~here;
            }
    }
}

int native_unpool(int32_t height, int32_t width, int32_t channels, int32_t k, int relu, int64_t batch,
                  const int8_t *errors, const int8_t *x, int8_t *out) {
    int32_t rows = height / k, places = width / k;
    ptrdiff_t row = (ptrdiff_t)width * channels, size = height * row, length = row + BYTES,
              pooled = (ptrdiff_t)rows * places * channels;
    ptrdiff_t used = (ptrdiff_t)places * k * channels;
    int8_t *values = calloc((size_t)(size + pooled + k * length + 2 * BYTES), 1);
    if (!values)
        return -1;
    int8_t *error = values + size + BYTES, *given = error + pooled + BYTES;
    for (int64_t sample = 0; sample < batch; sample++, x += size, errors += pooled) {
        memcpy(values, x, (size_t)size);
        memcpy(error, errors, (size_t)pooled);
        for (int32_t y = 0; y < rows; y++) {
            for (int32_t first = (channels - 1) / BYTES * BYTES; first >= 0; first -= BYTES)
                unpool_row(places, channels, k, relu, row, length, error + (ptrdiff_t)y * places * channels + first,
                           values + y * k * row + first, given + first);
            for (int32_t dy = 0; dy < k; dy++, out += row) {
                memcpy(out, given + dy * length, (size_t)used);
                memset(out + used, 0, (size_t)(row - used)); /* in no window */
            }
        }
        memset(out, 0, (size_t)(height % k * row));
        out += height % k * row;
    }
    free(values);
    return 0;
}
