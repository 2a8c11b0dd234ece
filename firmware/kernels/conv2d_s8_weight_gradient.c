#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else conv2d_s8_weight_gradient_dsp.c, conv2d_s8_weight_gradient_m0.c */

#include "kernels/convolution.h"

#include "arith/clip127.h"
#include "arith/round_shift.h"
#include "kernels/pad_input_s8.h"

enum { TAPS = 6 }; /* sums that stay in registers together */

/* sum[i]: error times in[i] over all positions; `in` is at the first tap of the first position, `error` at the channel.
   An error of 0, of which pooling and relu leave many, adds nothing. */
static inline void sum_positions(const int8_t *in, const int8_t *error, const layer_shape_t *shape, int32_t sum[TAPS]) {
    const uint32_t in_c = shape->in_c, out_c = shape->out_c;
    const uint32_t row_end = (shape->kernel_w - 1u) * in_c; /* from after the last position of a row to the next row */
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const int32_t e = *error;
            if (e != 0) {
                s0 += e * in[0];
                s1 += e * in[1];
                s2 += e * in[2];
                s3 += e * in[3];
                s4 += e * in[4];
                s5 += e * in[5];
            }
            in += in_c;
            error += out_c;
        }
        in += row_end;
    }
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
    sum[4] = s4;
    sum[5] = s5;
}

static void accumulate(const int32_t sum[TAPS], uint32_t taps, int32_t shift, int32_t *gradient) {
    for (uint32_t i = 0; i < taps; i++) {
        gradient[i] = add_sat32(gradient[i], trunc_shift(sum[i], shift));
    }
}

void conv2d_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape, int32_t shift,
                               int8_t *scratch, int32_t *gradient) {
    pad_input_s8(in, shape, scratch);
    const uint32_t row = (uint32_t)shape->kernel_w * shape->in_c; /* contiguous taps */
    const uint32_t step = (shape->in_w + 2u * shape->padding_w) * shape->in_c;
    for (uint32_t o = 0; o < shape->out_c; o++) {
        for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
            for (uint32_t j = 0; j < row; j += TAPS) {
                const uint32_t taps = row - j < TAPS ? row - j : TAPS; /* sums beyond the row are not used */
                int32_t sum[TAPS];
                sum_positions(scratch + ky * step + j, error + o, shape, sum);
                accumulate(sum, taps, shift, gradient + j);
            }
            gradient += row;
        }
    }
}

#endif
