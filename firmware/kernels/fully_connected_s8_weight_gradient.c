#include "kernels/fully_connected_s8_weight_gradient.h"

#include <stdbool.h>

#include "arith/bits.h"
#include "arith/clip127.h"
#include "arith/round_shift.h"

/* Whether no input, 127 at most, can make a product that the shift leaves anything of. */
static inline bool vanishes(int32_t error, int32_t shift) {
    return trunc_shift((int32_t)magnitude(error) * 127, shift) == 0;
}

void fully_connected_s8_weight_gradient(const int8_t *in, const int8_t *error, uint32_t inputs, uint32_t outputs, int32_t shift,
                                        int32_t *gradient) {
    for (uint32_t o = 0; o < outputs; o++) {
        const int32_t e = error[o];
        if (!vanishes(e, shift)) {
            for (uint32_t j = 0; j < inputs; j++) {
                gradient[j] = add_sat32(gradient[j], trunc_shift(e * in[j], shift));
            }
        }
        gradient += inputs;
    }
}
