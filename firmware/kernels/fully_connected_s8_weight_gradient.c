#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP &&                                                                                                    \
    !KERNELS_THUMB1 /* else fully_connected_s8_weight_gradient_dsp.c, fully_connected_s8_weight_gradient_m0.c */

#include "kernels/fully_connected.h"

#include "arith/bits.h"
#include "arith/round_shift.h"

static inline void add_to_row(const int8_t *in, int32_t error, uint32_t inputs, int32_t shift, int32_t *gradient) {
    for (uint32_t j = 0; j < inputs; j++) {
        gradient[j] += trunc_shift(error * in[j], shift);
    }
}

/* The products of one output; nothing to do if the shift leaves nothing of the largest there can be. */
static void add_row(const int8_t *in, int32_t error, uint32_t inputs, int32_t shift, int32_t *gradient) {
    if (trunc_shift((int32_t)magnitude(error) * 127, shift) == 0) {
        return;
    }
    if (shift == 0) {
        add_to_row(in, error, inputs, 0, gradient); /* without the shift, the compiler sees */
    } else {
        add_to_row(in, error, inputs, shift, gradient);
    }
}

void fully_connected_s8_weight_gradient(const int8_t *in, const int8_t *error, uint32_t inputs, uint32_t outputs,
                                        int32_t shift, int32_t *gradient) {
    for (uint32_t o = 0; o < outputs; o++) {
        add_row(in, error[o], inputs, shift, gradient);
        gradient += inputs;
    }
}

#endif
