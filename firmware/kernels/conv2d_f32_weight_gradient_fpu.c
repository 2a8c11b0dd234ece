#include "kernels/fpu.h"

#if KERNELS_FPU

#include "kernels/block_f32.h"
#include "kernels/conv2d_f32.h"
#include "kernels/tap_outputs.h"

/* The taps of a row of the kernel are a run of kernel_w * in_c weights, and what they read for one output is a run of
   the input. Outputs inside read the run whole; those at the left and the right border, only a part. */
typedef struct {
    const layer_shape_t *shape;
    uint32_t from, to; /* the columns of outputs inside */
    uint32_t channel;  /* the first of four output channels */
    uint32_t tap;      /* the first of four taps of the run */
} gradient_t;

/* The columns first..end - 1 of a row of outputs, which read the row of the input at `in`. */
static inline __attribute__((always_inline)) void add_inside(block_t *block, const gradient_t *gradient,
                                                             const float *in, const float *error) {
    const layer_shape_t *shape = gradient->shape;
    const uint32_t channels = shape->out_c, run = (uint32_t)shape->kernel_w * shape->in_c;
    const float *from = in + (gradient->from * shape->stride - shape->padding) * shape->in_c;
    for (uint32_t k = 0; k < BLOCK; k++) {
        block->row[k] = error + gradient->from * channels + least_u32(gradient->channel + k, channels - 1);
        block->column[k] = from + least_u32(gradient->tap + k, run - 1);
    }
    block_add(block, gradient->to - gradient->from, channels, (uint32_t)shape->stride * shape->in_c);
}

/* Columns at a border, one by one. */
static inline __attribute__((always_inline)) void add_border(block_t *block, const gradient_t *gradient,
                                                             const float *in, const float *error, uint32_t first,
                                                             uint32_t end) {
    const layer_shape_t *shape = gradient->shape;
    const uint32_t channels = shape->out_c, in_c = shape->in_c, run = (uint32_t)shape->kernel_w * in_c;
    for (uint32_t x = first; x < end; x++) {
        for (uint32_t k = 0; k < BLOCK; k++) {
            const uint32_t tap = least_u32(gradient->tap + k, run - 1);
            const uint32_t column = x * shape->stride + tap / in_c - shape->padding; /* large where it is below 0 */
            block->row[k] = error + x * channels + least_u32(gradient->channel + k, channels - 1);
            block->column[k] = column < shape->in_w ? in + column * in_c + tap % in_c : block_zeros;
        }
        block_add(block, 1, 0, 0);
    }
}

/* The sums of a block over all outputs whose row of taps `ky` is inside the image. */
static void sum_outputs(const float *in, const float *error, const gradient_t *gradient, uint32_t ky, float *sums) {
    const layer_shape_t *shape = gradient->shape;
    const tap_outputs_t rows = outputs_of_tap(ky, shape->stride, shape->padding, shape->in_h, shape->out_h);
    block_t block = {.sum = {0.0f}};
    for (uint32_t y = rows.first; y < rows.end; y++) {
        const uint32_t input = rows.input + (y - rows.first) * shape->stride;
        const float *row = in + input * shape->in_w * shape->in_c;
        const float *e = error + y * shape->out_w * shape->out_c;
        add_border(&block, gradient, row, e, 0, gradient->from);
        add_inside(&block, gradient, row, e);
        add_border(&block, gradient, row, e, gradient->to, shape->out_w);
    }
    for (uint32_t k = 0; k < BLOCK_SUMS; k++) {
        sums[k] = block.sum[k];
    }
}

static void add(const float *sums, uint32_t channels, uint32_t taps, uint32_t step, float *gradient) {
    for (uint32_t i = 0; i < channels; i++) {
        for (uint32_t j = 0; j < taps; j++) {
            gradient[i * step + j] = gradient[i * step + j] + sums[BLOCK * j + i];
        }
    }
}

static gradient_t gradient_of(const layer_shape_t *shape) {
    const uint32_t from = (shape->padding + shape->stride - 1u) / shape->stride;
    const tap_outputs_t last =
        outputs_of_tap(shape->kernel_w - 1u, shape->stride, shape->padding, shape->in_w, shape->out_w);
    const bool any = from < last.end;
    return (gradient_t){.shape = shape, .from = any ? from : shape->out_w, .to = any ? last.end : shape->out_w};
}

void conv2d_f32_weight_gradient(const float *in, const float *error, const layer_shape_t *shape, float *gradient) {
    const uint32_t run = (uint32_t)shape->kernel_w * shape->in_c, taps = shape->kernel_h * run, channels = shape->out_c;
    gradient_t block = gradient_of(shape);
    for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
        for (block.channel = 0; block.channel < channels; block.channel += BLOCK) {
            for (block.tap = 0; block.tap < run; block.tap += BLOCK) {
                float sums[BLOCK_SUMS];
                sum_outputs(in, error, &block, ky, sums);
                add(sums, least_u32(BLOCK, channels - block.channel), least_u32(BLOCK, run - block.tap), taps,
                    gradient + block.channel * taps + ky * run + block.tap);
            }
        }
    }
}

#endif
