/* The rows of a padded input that a band of a convolution sees. */
#include "kernels/conv_band_s8.h"

#include <string.h>

#if KERNELS_DSP

static void copy(const int8_t *in, uint32_t n, band_value_t *out) {
    widen_s8(in, n, out);
}

static void repeat(int8_t value, uint32_t n, band_value_t *out) {
    for (; n > 0; n--) {
        *out++ = value;
    }
}

#else

static void copy(const int8_t *in, uint32_t n, band_value_t *out) {
    memcpy(out, in, n);
}

static void repeat(int8_t value, uint32_t n, band_value_t *out) {
    memset(out, value, n);
}

#endif

/* A row of the padded input: padding, inputs, padding. A stride may leave out the last inputs. */
typedef struct {
    const int8_t *in;
    uint32_t in_h, above; /* rows of the input, and of the padding before them */
    uint32_t from_row;    /* bytes from row to row of the input */
    uint32_t before, inside, after;
    int8_t zero;
} rows_t;

static inline rows_t rows_of(const conv_band_t *band) {
    const layer_shape_t *shape = band->shape;
    const uint32_t inputs = (uint32_t)shape->in_w * shape->in_c, before = (uint32_t)shape->padding_w * shape->in_c;
    const uint32_t room = band->pitch - before, inside = inputs < room ? inputs : room;
    return (rows_t){.in = band->in,
                    .in_h = shape->in_h,
                    .above = shape->padding_h,
                    .from_row = inputs,
                    .before = before,
                    .inside = inside,
                    .after = room - inside,
                    .zero = band->zero};
}

static inline void fill_row(const rows_t *rows, uint32_t padded_y, band_value_t *out) {
    const uint32_t y = padded_y - rows->above; /* beyond the input, above it too, where the row is padding */
    if (y >= rows->in_h) {
        repeat(rows->zero, rows->before + rows->inside + rows->after, out);
        return;
    }
    repeat(rows->zero, rows->before, out);
    copy(rows->in + y * rows->from_row, rows->inside, out + rows->before);
    repeat(rows->zero, rows->after, out + rows->before + rows->inside);
}

void conv_band_fill(const conv_band_t *band) {
    const rows_t rows = rows_of(band);
    const uint32_t kernel_h = band->shape->kernel_h, pitch = band->pitch, stride = band->stride_h, count = band->count;
    const uint32_t step = conv_band_step(band->shape, stride);
    uint32_t first = 0; /* of a window's rows, the others are there */
    band_value_t *out = band->rows;
    for (uint32_t y = band->y * stride; y != (band->y + count) * stride; y += stride) {
        for (uint32_t ky = first; ky < kernel_h; ky++, out += pitch) {
            fill_row(&rows, y + ky, out);
        }
        first = kernel_h - step;
    }
}
