/* conv2d in binary32, forward: docs/arithmetic-float32.md, sections 3 and 12. */
#include "kernels/layers_f32.h"

#include "kernels/block_f32.h"
#include "kernels/core.h"
#include "kernels/windows.h"

#if KERNELS_FPU

const float block_zeros[BLOCK_ZEROS];

/* Columns first..first + width - 1 of the output, whose windows have the same taps inside the image. */
typedef struct {
    uint32_t first, width;
    span_t taps; /* of the first */
} columns_t;

static columns_t columns_from(const layer_shape_t *shape, uint32_t first) {
    columns_t columns = {.first = first, .width = 1};
    columns.taps = span_of(first, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
    for (uint32_t x = first + 1; x < shape->out_w && columns.taps.inside == shape->kernel_w; x++) {
        const span_t next = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
        if (next.inside < shape->kernel_w) {
            break;
        }
        columns.width++;
    }
    return columns;
}

/* The windows of four outputs: the row of the input in which each begins, in the padding too, and where it reads that
   row. */
typedef struct {
    int32_t top[BLOCK];
    uint32_t offset[BLOCK];
} windows_t;

static windows_t windows_of(const layer_shape_t *shape, const columns_t *columns, uint32_t position) {
    const uint32_t last = shape->out_h * columns->width - 1;
    windows_t windows;
    for (uint32_t j = 0; j < BLOCK; j++) {
        const uint32_t at = least_u32(position + j, last); /* beyond the last output, it is computed again */
        const uint32_t y = at / columns->width, x = at - y * columns->width;
        windows.top[j] = (int32_t)(y * shape->stride_h) - shape->padding_h;
        windows.offset[j] = (columns->taps.at + x * shape->stride_w) * shape->in_c;
    }
    return windows;
}

/* Begin row `ky` of the taps, of which the windows in `inside` read the input, and the others zeros. */
INLINED uint32_t enter_row(block_t *block, const float *in, const layer_shape_t *shape, const windows_t *windows,
                           uint32_t ky) {
    uint32_t inside = 0;
    for (uint32_t j = 0; j < BLOCK; j++) {
        const uint32_t row = (uint32_t)windows->top[j] + ky; /* large where it is above the image */
        const bool there = row < shape->in_h;
        block->column[j] = there ? in + row * shape->in_w * shape->in_c + windows->offset[j] : block_zeros;
        inside += there;
    }
    return inside;
}

/* The sums of four channels, from `channel` on. A row of taps reads a run of the input. */
SEPARATE static void sum_windows(const float *in, const float *weights, const layer_shape_t *shape, const span_t *taps,
                                 const windows_t *windows, uint32_t channel, float *sums) {
    const uint32_t row = (uint32_t)shape->kernel_w * shape->in_c, run = taps->inside * shape->in_c;
    block_t block = {.sum = {0.0f}};
    for (uint32_t i = 0; i < BLOCK; i++) {
        const uint32_t o = least_u32(channel + i, shape->out_c - 1u);
        block.row[i] = weights + o * shape->kernel_h * row + taps->before * shape->in_c;
    }
    for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
        const uint32_t inside = enter_row(&block, in, shape, windows, ky);
        /* Zeros are read again and again. */
        const uint32_t most = inside == BLOCK ? run : BLOCK_ZEROS;
        for (uint32_t left = inside > 0 ? run : 0; left > 0;) {
            const uint32_t n = least_u32(left, most);
            block_add(&block, n, 1, 1);
            left -= n;
            for (uint32_t j = 0; j < BLOCK && left > 0; j++) {
                const bool outside = (uint32_t)windows->top[j] + ky >= shape->in_h;
                block.column[j] = outside ? block_zeros : block.column[j];
            }
        }
        for (uint32_t i = 0; i < BLOCK; i++) {
            block.row[i] += inside > 0 ? row - run : row;
        }
    }
    for (uint32_t k = 0; k < BLOCK_SUMS; k++) {
        sums[k] = block.sum[k];
    }
}

static void store(const float *sums, const float *bias, uint32_t channels, const limits_f32_t *limits, float *out) {
    const float least = limits->least, most = limits->most;
    for (uint32_t i = 0; i < channels; i++) {
        out[i] = clamp_f32(sums[i] + bias[i], least, most);
    }
}

static void run_columns(const float *in, const float *weights, const float *bias, const layer_shape_t *shape,
                        const limits_f32_t *limits, const columns_t *columns, float *out) {
    const uint32_t positions = shape->out_h * columns->width, channels = shape->out_c;
    for (uint32_t p = 0; p < positions; p += BLOCK) {
        const windows_t windows = windows_of(shape, columns, p);
        for (uint32_t o = 0; o < channels; o += BLOCK) {
            float sums[BLOCK_SUMS];
            sum_windows(in, weights, shape, &columns->taps, &windows, o, sums);
            for (uint32_t j = 0; j < least_u32(BLOCK, positions - p); j++) {
                const uint32_t y = (p + j) / columns->width, x = columns->first + (p + j) % columns->width;
                store(sums + BLOCK * j, bias + o, least_u32(BLOCK, channels - o), limits,
                      out + (y * shape->out_w + x) * channels + o);
            }
        }
    }
}

void conv2d_f32(const float *in, const float *weights, const float *bias, const layer_shape_t *shape,
                const limits_f32_t *limits, float *out) {
    columns_t columns;
    for (uint32_t x = 0; x < shape->out_w; x += columns.width) {
        columns = columns_from(shape, x);
        run_columns(in, weights, bias, shape, limits, &columns, out);
    }
}

#else

/* The products of a window, from the first position and the first tap inside the image. */
static float sum_window(const float *in, const float *weights, const layer_shape_t *shape, uint32_t rows,
                        uint32_t row_products) {
    const uint32_t input_row = (uint32_t)shape->in_w * shape->in_c,
                   kernel_row = (uint32_t)shape->kernel_w * shape->in_c;
    float sum = 0.0f;
    for (; rows > 0; rows--, in += input_row, weights += kernel_row) {
        for (uint32_t i = 0; i < row_products; i++) {
            sum = add_product_f32(sum, weights[i], in[i]);
        }
    }
    return sum;
}

void conv2d_f32(const float *in, const float *weights, const float *bias, const layer_shape_t *shape,
                const limits_f32_t *limits, float *out) {
    const uint32_t c = shape->in_c, taps = (uint32_t)shape->kernel_h * shape->kernel_w * c;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t rows = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const span_t columns = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            const float *from = in + (rows.at * shape->in_w + columns.at) * c;
            const float *tap = weights + (rows.before * shape->kernel_w + columns.before) * c;
            for (uint32_t o = 0; o < shape->out_c; o++, tap += taps) {
                const float sum = sum_window(from, tap, shape, rows.inside, columns.inside * c);
                *out++ = clamp_f32(sum + bias[o], limits->least, limits->most);
            }
        }
    }
}

#endif
