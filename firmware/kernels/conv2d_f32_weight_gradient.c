/* conv2d in binary32, gradients of weights and biases: docs/arithmetic-float32.md, sections 5 and 12. */
#include "kernels/layers_f32.h"

#include "kernels/block_f32.h"
#include "kernels/core.h"
#include "kernels/meetings_f32.h"

#if KERNELS_FPU

/* Four channels of the output and four taps of a row of the kernel, which is a run of kernel_w * in_c weights. The
   columns of outputs first..end - 1 have one of these taps inside the image; from..to - 1 have all. */
typedef struct {
    uint32_t first, from, to, end;
    uint32_t error[BLOCK]; /* channels of the output */
    uint32_t left[BLOCK];  /* columns from the first tap of an output to these, less the padding: large where below 0 */
    uint32_t input[BLOCK];
} gradient_t;

/* The next columns of outputs, from `x` on, that read the row of the input at `in`: all that have all taps, or one.
   Returns how many. */
INLINED uint32_t enter_columns(block_t *block, const gradient_t *gradient, const layer_shape_t *shape, const float *in,
                               const float *error, uint32_t x) {
    const uint32_t first = x * shape->stride_w;
    for (uint32_t k = 0; k < BLOCK; k++) {
        const uint32_t column = first + gradient->left[k]; /* large where it is below 0 */
        block->row[k] = error + x * shape->out_c + gradient->error[k];
        block->column[k] = column < shape->in_w ? in + column * shape->in_c + gradient->input[k] : block_zeros;
    }
    return x == gradient->from ? gradient->to - gradient->from : 1;
}

/* The sums of a block over all outputs whose row of taps `ky` is inside the image. */
SEPARATE static void sum_outputs(const float *in, const float *error, const layer_shape_t *shape,
                                 const gradient_t *gradient, uint32_t ky, float *sums) {
    const tap_outputs_t rows = outputs_of_tap(ky, shape->stride_h, shape->padding_h, shape->in_h, shape->out_h);
    block_t block = {.sum = {0.0f}};
    const uint32_t column = (uint32_t)shape->stride_w * shape->in_c,
                   next = (uint32_t)shape->stride_h * shape->in_w * shape->in_c;
    in += rows.input * shape->in_w * shape->in_c;
    for (uint32_t y = rows.first; y < rows.end; y++, in += next) {
        const float *row = error + y * shape->out_w * shape->out_c;
        for (uint32_t x = gradient->first, n; x < gradient->end; x += n) {
            n = enter_columns(&block, gradient, shape, in, row, x);
            block_add(&block, n, shape->out_c, column);
        }
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

/* Beyond the last channel and the last tap, it is computed again. */
static gradient_t choose(const layer_shape_t *shape, uint32_t channel, uint32_t tap) {
    const uint32_t run = (uint32_t)shape->kernel_w * shape->in_c;
    gradient_t gradient = {.first = shape->out_w, .to = shape->out_w};
    for (uint32_t k = 0; k < BLOCK; k++) {
        const uint32_t at = least_u32(tap + k, run - 1), kx = at / shape->in_c;
        const tap_outputs_t outputs = outputs_of_tap(kx, shape->stride_w, shape->padding_w, shape->in_w, shape->out_w);
        gradient.error[k] = least_u32(channel + k, shape->out_c - 1u);
        gradient.left[k] = kx - shape->padding_w;
        gradient.input[k] = at % shape->in_c;
        gradient.first = least_u32(gradient.first, outputs.first);
        gradient.to = least_u32(gradient.to, outputs.end);
        gradient.from = outputs.first > gradient.from ? outputs.first : gradient.from;
        gradient.end = outputs.end > gradient.end ? outputs.end : gradient.end;
    }
    gradient.from = gradient.from < gradient.to ? gradient.from : gradient.end;
    return gradient;
}

void conv2d_f32_weight_gradient(const float *in, const float *error, const layer_shape_t *shape, float *gradient) {
    const uint32_t run = (uint32_t)shape->kernel_w * shape->in_c, taps = shape->kernel_h * run, channels = shape->out_c;
    for (uint32_t tap = 0; tap < run; tap += BLOCK) {
        for (uint32_t o = 0; o < channels; o += BLOCK) {
            const gradient_t block = choose(shape, o, tap);
            for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
                float sums[BLOCK_SUMS];
                sum_outputs(in, error, shape, &block, ky, sums);
                add(sums, least_u32(BLOCK, channels - o), least_u32(BLOCK, run - tap), taps,
                    gradient + o * taps + ky * run + tap);
            }
        }
    }
}

#else

/* The gradient of the taps at (ky, kx), of all channels. */
static void add_tap(const float *in, const float *error, const layer_shape_t *shape, uint32_t ky, uint32_t kx,
                    float *gradient) {
    const meeting_t meeting = meeting_of(shape, ky, kx);
    const uint32_t in_c = shape->in_c, out_c = shape->out_c, taps = shape_taps(shape);
    if (meeting.rows == 0) {
        return;
    }
    gradient += (ky * shape->kernel_w + kx) * in_c;
    for (uint32_t o = 0; o < out_c; o++, gradient += taps) {
        for (uint32_t c = 0; c < in_c; c++) {
            gradient[c] = gradient[c] + sum_meeting(error + o, in + c, &meeting);
        }
    }
}

void conv2d_f32_weight_gradient(const float *in, const float *error, const layer_shape_t *shape, float *gradient) {
    for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
        for (uint32_t kx = 0; kx < shape->kernel_w; kx++) {
            add_tap(in, error, shape, ky, kx, gradient);
        }
    }
}

#endif

void bias_gradient_f32(const float *error, uint32_t positions, uint32_t channels, float *gradient) {
    for (uint32_t o = 0; o < channels; o++) {
        float sum = 0.0f;
        for (uint32_t i = 0; i < positions; i++) {
            sum = sum + error[i * channels + o];
        }
        gradient[o] = gradient[o] + sum;
    }
}
