/* conv2d in binary32, error of the input: docs/arithmetic-float32.md, sections 5 and 12. */
#include "kernels/layers_f32.h"

#include "kernels/block_f32.h"
#include "kernels/core.h"
#include "kernels/windows.h"

#if KERNELS_FPU

/* Four inputs of a row, a stride apart: the same taps of a row meet all of them, or none. */
typedef struct {
    uint32_t y, x; /* of the first */
    uint32_t count;
} inputs_t;

/* Add the products of the outputs of row `row` whose tap `kx` is one of the inputs, which are all inputs of the four
   that such a tap has. */
INLINED void add_tap(block_t *block, const float *error, const kept_f32_t *kept, const layer_shape_t *shape,
                     const inputs_t *inputs, uint32_t row, uint32_t kx) {
    const uint32_t channels = kept->count, taps = shape_taps(shape);
    uint32_t column[BLOCK], any = 0;
    for (uint32_t j = 0; j < BLOCK; j++) {
        const uint32_t x = inputs->x + least_u32(j, inputs->count - 1) * shape->stride_w;
        column[j] = output_of_tap(x, kx, shape->stride_w, shape->padding_w, shape->out_w);
        any |= column[j] != NO_OUTPUT;
    }
    for (uint32_t o = 0; o < channels && any != 0; o += BLOCK_ZEROS) {
        for (uint32_t j = 0; j < BLOCK; j++) {
            const bool there = column[j] != NO_OUTPUT;
            block->column[j] = there ? error + (row * shape->out_w + column[j]) * channels + o : block_zeros;
        }
        const uint32_t n = least_u32(BLOCK_ZEROS, channels - o);
        if (kept->list == NULL) {
            block_add(block, n, taps, 1);
        } else {
            block_add_listed(block, kept->list + o, n, taps, 1);
        }
    }
}

/* The sums of four channels, from `channel` on. */
SEPARATE static void sum_taps(const float *error, const kept_f32_t *kept, const float *weights,
                              const layer_shape_t *shape, const inputs_t *inputs, uint32_t channel, float *sums) {
    block_t block = {.sum = {0.0f}};
    for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
        const uint32_t row = output_of_tap(inputs->y, ky, shape->stride_h, shape->padding_h, shape->out_h);
        for (uint32_t kx = 0; kx < shape->kernel_w && row != NO_OUTPUT; kx++) {
            const float *tap = weights + (ky * shape->kernel_w + kx) * shape->in_c;
            for (uint32_t i = 0; i < BLOCK; i++) {
                block.row[i] = tap + least_u32(channel + i, shape->in_c - 1u);
            }
            add_tap(&block, error, kept, shape, inputs, row, kx);
        }
    }
    for (uint32_t k = 0; k < BLOCK_SUMS; k++) {
        sums[k] = block.sum[k];
    }
}

static void give(const float *sums, uint32_t channels, uint32_t positions, uint32_t step, bool further, float *to) {
    for (uint32_t j = 0; j < positions; j++) {
        for (uint32_t i = 0; i < channels; i++) {
            give_error_f32(&to[j * step + i], sums[BLOCK * j + i], further);
        }
    }
}

static void give_inputs(const float *error, const kept_f32_t *kept, const float *weights, const layer_shape_t *shape,
                        const inputs_t *inputs, bool further, float *input_error) {
    const uint32_t channels = shape->in_c;
    float *to = input_error + (inputs->y * shape->in_w + inputs->x) * channels;
    for (uint32_t c = 0; c < channels; c += BLOCK) {
        float sums[BLOCK_SUMS];
        sum_taps(error, kept, weights, shape, inputs, c, sums);
        give(sums, least_u32(BLOCK, channels - c), inputs->count, shape->stride_w * channels, further, to + c);
    }
}

void conv2d_f32_input_error(const float *error, const kept_f32_t *kept, const float *weights,
                            const layer_shape_t *shape, bool further, float *input_error) {
    const uint32_t stride = shape->stride_w;
    for (uint32_t y = 0; y < shape->in_h; y++) {
        for (uint32_t phase = 0; phase < stride && phase < shape->in_w; phase++) {
            for (uint32_t x = phase; x < shape->in_w; x += BLOCK * stride) {
                const inputs_t inputs = {
                    .y = y, .x = x, .count = least_u32(BLOCK, (shape->in_w - x + stride - 1) / stride)};
                give_inputs(error, kept, weights, shape, &inputs, further, input_error);
            }
        }
    }
}

#else

/* The products of all outputs that read one input through a tap, output channel by output channel. */
static float add_channels(float sum, const float *error, const float *weights, const kept_f32_t *kept, uint32_t taps) {
    if (kept->list == NULL) {
        for (uint32_t o = 0; o < kept->count; o++, weights += taps) {
            sum = add_product_f32(sum, *weights, error[o]);
        }
        return sum;
    }
    for (uint32_t i = 0; i < kept->count; i++) {
        sum = add_product_f32(sum, weights[kept->list[i] * taps], error[i]);
    }
    return sum;
}

/* The error of channel `c` of the input at (y, x). */
static float sum_taps(const float *error, const kept_f32_t *kept, const float *weights, const layer_shape_t *shape,
                      uint32_t y, uint32_t x) {
    const uint32_t taps = shape_taps(shape);
    float sum = 0.0f;
    for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
        const uint32_t row = output_of_tap(y, ky, shape->stride_h, shape->padding_h, shape->out_h);
        for (uint32_t kx = 0; kx < shape->kernel_w && row != NO_OUTPUT; kx++) {
            const uint32_t column = output_of_tap(x, kx, shape->stride_w, shape->padding_w, shape->out_w);
            if (column != NO_OUTPUT) {
                sum = add_channels(sum, error + (row * shape->out_w + column) * kept->count,
                                   weights + (ky * shape->kernel_w + kx) * shape->in_c, kept, taps);
            }
        }
    }
    return sum;
}

void conv2d_f32_input_error(const float *error, const kept_f32_t *kept, const float *weights,
                            const layer_shape_t *shape, bool further, float *input_error) {
    for (uint32_t y = 0; y < shape->in_h; y++) {
        for (uint32_t x = 0; x < shape->in_w; x++) {
            for (uint32_t c = 0; c < shape->in_c; c++) {
                give_error_f32(input_error++, sum_taps(error, kept, weights + c, shape, y, x), further);
            }
        }
    }
}

#endif
