#include "kernels/updates.h"

#include "arith/float32.h"
#include "kernels/layer_errors.h"
#include "kernels/perturbation.h"

float update_rate(float eta, bool gns, uint32_t samples, uint32_t queries, uint32_t dimensions) {
    const uint32_t losses = samples * queries;
    float f = eta;
    if (gns) {
        const float norm = (float)losses / (float)(losses + dimensions - 1u);
        f = f * norm;
    }
    return f / (float)losses;
}

static update_factor_t factor_of(const gradient_update_t *update, uint32_t o, float unit, int32_t exponent) {
    float f = update->rate;
    if (update->nodes) {
        const float slope =
            update->factor * channel_factor(update->multiplier, update->shift, o); /* dL/dw, of one in the error */
        f = f * slope;
    }
    if (update->qas) {
        f = f / unit;
        f = f / unit;
    }
    const uint32_t word = float32_bits(f), field = word >> 23 & 0xFFu;
    if (field == 0 || field == 0xFFu) {
        return (update_factor_t){.m = 0, .n = 0};
    }
    const int32_t k = (int32_t)field - 127 - 23;
    return (update_factor_t){.m = (word & 0x007FFFFFu) | 0x00800000u, .n = -(k + exponent)};
}

update_factor_t weight_update_factor(const gradient_update_t *update, uint32_t o) {
    return factor_of(update, o, update->weight_scale[o], update->exponent);
}

update_factor_t bias_update_factor(const gradient_update_t *update, uint32_t o) {
    const float unit = update->input_scale * update->weight_scale[o];
    const int32_t lowered = update->nodes ? 0 : bias_step_exponent(update->shift[o]);
    return factor_of(update, o, unit, update->exponent - lowered);
}

/* The magnitude of D, where n <= 0: with a product of 2^23 at least, a shift of 7 reaches 2^30. */
static uint64_t raised(uint64_t product, int32_t n) {
    return product << (n < -7 ? 7 : -n);
}

int32_t update_step(int32_t gradient, update_factor_t factor) {
    if (factor.n > 62) {
        return 0;
    }
    if (factor.n > 32) {
        return update_step_upper(gradient, factor.m, factor.n);
    }
    const uint64_t product = (uint64_t)magnitude(gradient) * factor.m;
    const uint64_t size =
        factor.n > 0 ? (product + (UINT64_C(1) << (factor.n - 1))) >> factor.n : raised(product, factor.n);
    const int32_t step = size > (1u << 30) ? 1 << 30 : (int32_t)size;
    return gradient < 0 ? -step : step;
}
