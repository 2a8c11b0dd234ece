#include "kernels/perturb_weights_s8.h"

#include "arith/rademacher.h"
#include "kernels/dsp.h"

/* By the signs of four draws, the first in the lowest bit: xi_0 + 2^8 xi_1 + 2^16 xi_2 + 2^24 xi_3. */
#define FOUR(s) (0x01010101u - 2u * (((s) & 1u) | ((s) >> 1 & 1u) << 8 | ((s) >> 2 & 1u) << 16 | ((s) >> 3 & 1u) << 24))
static const uint32_t four[16] = {FOUR(0u), FOUR(1u), FOUR(2u),  FOUR(3u),  FOUR(4u),  FOUR(5u),  FOUR(6u),  FOUR(7u),
                                  FOUR(8u), FOUR(9u), FOUR(10u), FOUR(11u), FOUR(12u), FOUR(13u), FOUR(14u), FOUR(15u)};

/* Added to bytes in 1..254 as one number, none of them carries: such are weights with 128 added to each. */
#define SIGN_BITS 0x80808080u

static void move_four(int8_t *weights, uint32_t signs) {
    const uint32_t moved = (load_word(weights) ^ SIGN_BITS) + four[signs & 15u];
    store_word(weights, moved ^ SIGN_BITS);
}

uint32_t perturb_weights_s8(int8_t *weights, uint32_t n, uint32_t signs, int32_t k) {
    const uint32_t turned = k < 0 ? 0xFFFFFFFFu : 0u;
    weights = __builtin_assume_aligned(weights, 4);
    for (; n >= SIGNS_PER_WORD; n -= SIGNS_PER_WORD) {
        uint32_t now = signs ^ turned;
        for (uint32_t i = 0; i < SIGNS_PER_WORD; i += 4) {
            move_four(weights + i, now);
            now >>= 4;
        }
        weights += SIGNS_PER_WORD;
        signs = rademacher_next(signs);
    }
    for (uint32_t i = 0; i < n; i++) {
        const int32_t xi = (signs >> i & 1u) != 0 ? -k : k;
        weights[i] = (int8_t)(weights[i] + xi);
    }
    return rademacher_skip(signs, n);
}
