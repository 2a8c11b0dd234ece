#include "kernels/fpu.h"

#if KERNELS_FPU

#include "kernels/block_f32.h"
#include "kernels/conv2d_f32.h"

/* The windows of four outputs: where each begins, in the padding too. */
typedef struct {
    int32_t top[BLOCK], left[BLOCK];
    bool inside; /* all of them are whole within the image */
} windows_t;

static windows_t windows_of(const layer_shape_t *shape, uint32_t position) {
    const uint32_t last = (uint32_t)shape->out_h * shape->out_w - 1;
    windows_t windows = {.inside = true};
    for (uint32_t j = 0; j < BLOCK; j++) {
        const uint32_t at = least_u32(position + j, last); /* beyond the last output, it is computed again */
        const int32_t top = (int32_t)(at / shape->out_w * shape->stride) - shape->padding;
        const int32_t left = (int32_t)(at % shape->out_w * shape->stride) - shape->padding;
        windows.top[j] = top;
        windows.left[j] = left;
        windows.inside = windows.inside && top >= 0 && left >= 0 && top + shape->kernel_h <= shape->in_h &&
                         left + shape->kernel_w <= shape->in_w;
    }
    return windows;
}

/* Where a window reads under a tap; NULL outside the image. */
static inline const float *under_tap(const float *in, const layer_shape_t *shape, int32_t y, int32_t x) {
    const bool inside = (uint32_t)y < shape->in_h && (uint32_t)x < shape->in_w;
    return inside ? in + ((uint32_t)y * shape->in_w + (uint32_t)x) * shape->in_c : NULL;
}

static void open_block(block_t *block, const float *weights, const layer_shape_t *shape, uint32_t channel) {
    const uint32_t taps = (uint32_t)shape->kernel_h * shape->kernel_w * shape->in_c;
    for (uint32_t i = 0; i < BLOCK; i++) {
        block->row[i] = weights + least_u32(channel + i, shape->out_c - 1u) * taps;
    }
}

/* A row of taps reads a run of the input. */
static void sum_inside(const float *in, const float *weights, const layer_shape_t *shape, const windows_t *windows,
                       uint32_t channel, float *sums) {
    const uint32_t run = (uint32_t)shape->kernel_w * shape->in_c, row = (uint32_t)shape->in_w * shape->in_c;
    block_t block = {.sum = {0.0f}};
    open_block(&block, weights, shape, channel);
    for (uint32_t j = 0; j < BLOCK; j++) {
        block.column[j] = under_tap(in, shape, windows->top[j], windows->left[j]);
    }
    for (uint32_t ky = shape->kernel_h; ky > 0; ky--) {
        block_add(&block, run, 1, 1);
        for (uint32_t j = 0; j < BLOCK; j++) {
            block.column[j] += row - run;
        }
    }
    for (uint32_t k = 0; k < BLOCK_SUMS; k++) {
        sums[k] = block.sum[k];
    }
}

/* Tap by tap: some read zeros. */
static void sum_at_border(const float *in, const float *weights, const layer_shape_t *shape, const windows_t *windows,
                          uint32_t channel, float *sums) {
    block_t block = {.sum = {0.0f}};
    open_block(&block, weights, shape, channel);
    for (int32_t ky = 0; ky < shape->kernel_h; ky++) {
        for (int32_t kx = 0; kx < shape->kernel_w; kx++) {
            for (uint32_t c = 0; c < shape->in_c; c += BLOCK_ZEROS) {
                for (uint32_t j = 0; j < BLOCK; j++) {
                    const float *from = under_tap(in, shape, windows->top[j] + ky, windows->left[j] + kx);
                    block.column[j] = from != NULL ? from + c : block_zeros;
                }
                block_add(&block, least_u32(BLOCK_ZEROS, shape->in_c - c), 1, 1);
            }
        }
    }
    for (uint32_t k = 0; k < BLOCK_SUMS; k++) {
        sums[k] = block.sum[k];
    }
}

static void store(const float *sums, const float *bias, uint32_t channels, uint32_t positions, uint32_t step,
                  const limits_f32_t *limits, float *out) {
    for (uint32_t j = 0; j < positions; j++) {
        for (uint32_t i = 0; i < channels; i++) {
            out[j * step + i] = clamp_f32(sums[BLOCK * j + i] + bias[i], limits->least, limits->most);
        }
    }
}

void conv2d_f32(const float *in, const float *weights, const float *bias, const layer_shape_t *shape,
                const limits_f32_t *limits, float *out) {
    const uint32_t positions = (uint32_t)shape->out_h * shape->out_w, channels = shape->out_c;
    for (uint32_t p = 0; p < positions; p += BLOCK) {
        const windows_t windows = windows_of(shape, p);
        for (uint32_t o = 0; o < channels; o += BLOCK) {
            float sums[BLOCK_SUMS];
            (windows.inside ? sum_inside : sum_at_border)(in, weights, shape, &windows, o, sums);
            store(sums, bias + o, least_u32(BLOCK, channels - o), least_u32(BLOCK, positions - p), channels, limits,
                  out + p * channels + o);
        }
    }
}

#endif
