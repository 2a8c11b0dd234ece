#include "kernels/apply_gradient_s8.h"

#include "arith/bits.h"
#include "arith/clip127.h"

/* Returns the gradient's magnitude below which D is certainly 0, whatever m: |G| * m < |G| * 2^24 <= 2^(n-1). */
static uint32_t surely_zero(update_factor_t factor) {
    if (factor.m == 0 || factor.n > 56) {
        return UINT32_MAX; /* the magnitude is 2^31 at most */
    }
    return factor.n < 25 ? 0 : 1u << (factor.n - 25);
}

/* `n` weights of one channel; returns what their sum grows by. */
static int32_t apply(int8_t *weights, const int32_t *gradient, uint32_t n, update_factor_t factor) {
    const uint32_t zero = surely_zero(factor);
    int32_t growth = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (magnitude(gradient[i]) > zero) {
            const int32_t before = weights[i];
            const int32_t after = clip(before - update_step(gradient[i], factor), WEIGHT_LIMIT);
            weights[i] = (int8_t)after;
            growth += after - before;
        }
    }
    return growth;
}

void apply_gradient_s8(int8_t *weights, const int32_t *gradient, uint32_t first, uint32_t n, const gradient_update_t *update,
                       int32_t *sums) {
    const uint32_t run = update->depthwise ? 1 : update->taps;
    for (uint32_t i = 0; i < n;) {
        const uint32_t index = first + i, left = run - index % run;
        const uint32_t o = update->depthwise ? index % update->channels : index / run;
        const uint32_t taken = left < n - i ? left : n - i;
        sums[o] += apply(weights + i, gradient + i, taken, weight_update_factor(update, o));
        i += taken;
    }
}
