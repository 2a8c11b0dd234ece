#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/affine8.h"
#include "kernels/byte_of_sum.h"
#include "kernels/dsp_multiply.h"

/* Each kind of sums has its registers for itself. */
#define APART __attribute__((noinline)) static

/* Sums that become outputs `step` apart; those of different biases lie one after the other, as the biases do. */
typedef struct {
    const int32_t *sums, *end;
    const int32_t *bias;
    uint32_t step;
    int8_t *out;
    int32_t zero, least, most;
    affine8_factor_t factor;
} run_t;

static inline int32_t held(int32_t value, const run_t *run) {
    const int32_t enough = value < run->least ? run->least : value;
    return enough > run->most ? run->most : enough;
}

/* R(a, m, n) + z for n in 17..32: the upper word of a * m * 2^(32 - n), plus z. */
static inline int32_t one_byte(int32_t sum, int32_t bias, int32_t multiplier, bool common, const run_t *run) {
    const int32_t acc = (int32_t)((uint32_t)sum + (uint32_t)bias);
    if (common) {
        return quick_byte(acc, multiplier, run->zero);
    }
    return held(run->factor.floors ? sum_of_upper_product(run->zero, acc, multiplier)
                                   : sum_of_nearest_product(run->zero, acc, multiplier),
                run);
}

static inline void all_bytes(run_t run, bool common, bool alike) {
    const int32_t multiplier = (int32_t)((uint32_t)run.factor.m << (32 - run.factor.n)), bias = *run.bias;
    const uint32_t step = run.step, next = alike ? 0 : 1;
    const int32_t *sums = run.sums, *const end = run.end, *const fours = sums + (end - sums) / 4 * 4;
    int8_t *out = run.out;
    for (; sums != fours; sums += 4, run.bias += 4 * next) {
        const int32_t *const b = run.bias;
        out[0] = (int8_t)one_byte(sums[0], alike ? bias : b[0], multiplier, common, &run);
        out[step] = (int8_t)one_byte(sums[1], alike ? bias : b[1], multiplier, common, &run);
        out[2 * step] = (int8_t)one_byte(sums[2], alike ? bias : b[2], multiplier, common, &run);
        out[3 * step] = (int8_t)one_byte(sums[3], alike ? bias : b[3], multiplier, common, &run);
        out += 4 * step;
    }
    for (; sums != end; sums++, run.bias += next) {
        *out = (int8_t)one_byte(*sums, alike ? bias : *run.bias, multiplier, common, &run);
        out += step;
    }
}

/* Rounded to nearest, with all of int8: one bias, or many. */
APART void common_bytes(const run_t *run) {
    all_bytes(*run, true, true);
}

APART void common_biased_bytes(const run_t *run) {
    all_bytes(*run, true, false);
}

APART void limited_bytes(const run_t *run) {
    all_bytes(*run, false, true);
}

APART void limited_biased_bytes(const run_t *run) {
    all_bytes(*run, false, false);
}

/* Any factor. */
APART void any_bytes(const run_t *run, bool alike) {
    const int32_t *bias = run->bias;
    int8_t *out = run->out;
    for (const int32_t *sums = run->sums; sums != run->end; sums++, out += run->step, bias += alike ? 0 : 1) {
        const int32_t acc = (int32_t)((uint32_t)*sums + (uint32_t)*bias);
        *out = (int8_t)held(run->zero + affine8_rescale(acc, run->factor), run);
    }
}

static void put_bytes(const run_t *run, bool alike) {
    if (run->factor.n < 17 || run->factor.n > 32) {
        any_bytes(run, alike);
    } else if (!run->factor.floors && run->least == INT8_MIN && run->most == INT8_MAX) {
        (alike ? common_bytes : common_biased_bytes)(run);
    } else {
        (alike ? limited_bytes : limited_biased_bytes)(run);
    }
}

void affine8_requantize_channels(const int32_t *sums, uint32_t positions, uint32_t first, uint32_t channels,
                                 const affine8_layer_t *layer, uint32_t step, int8_t *out) {
    run_t run = {.sums = sums,
                 .bias = layer->bias + first,
                 .step = step,
                 .out = out,
                 .zero = layer->output_zero,
                 .least = layer->least,
                 .most = layer->most,
                 .factor = layer->factor};
    if (positions == 1) {
        run.end = sums + channels;
        run.step = 1;
        put_bytes(&run, false);
        return;
    }
    for (uint32_t c = 0; c < channels; c++, run.bias++, run.out++) {
        run.end = run.sums + positions;
        put_bytes(&run, true);
        run.sums = run.end;
    }
}

/* Of sums that all become bytes without a clamp. */
APART void bytes_within(const int32_t *sums, uint32_t n, int32_t multiplier, int32_t zero, int8_t *out) {
    const int32_t *const eights = sums + n / 8 * 8;
    out = pack_bytes_within(sums, eights, multiplier, zero, out);
    for (uint32_t i = 0; i < n % 8; i++) {
        out[i] = quick_byte(eights[i], multiplier, zero);
    }
}

APART void bytes_of_sums(const int32_t *sums, uint32_t n, int32_t multiplier, int32_t zero, int8_t *out) {
    const int32_t *const end = sums + n, *const fours = sums + n / 4 * 4;
    for (; sums != fours; out += 4) {
        int32_t four[4];
        sums = take_four(sums, four);
        out[0] = quick_byte(four[0], multiplier, zero);
        out[1] = quick_byte(four[1], multiplier, zero);
        out[2] = quick_byte(four[2], multiplier, zero);
        out[3] = quick_byte(four[3], multiplier, zero);
    }
    while (sums != end) {
        *out++ = quick_byte(*sums++, multiplier, zero);
    }
}

void affine8_requantize_s32(const int32_t *sums, uint32_t n, affine8_factor_t factor, int8_t zero, bool within,
                            int8_t *out) {
    if (byte_is_quick(factor)) {
        (within ? bytes_within : bytes_of_sums)(sums, n, byte_multiplier(factor), zero, out);
        return;
    }
    const int32_t none = 0;
    const run_t run = {.sums = sums,
                       .end = sums + n,
                       .bias = &none,
                       .step = 1,
                       .out = out,
                       .zero = zero,
                       .least = INT8_MIN,
                       .most = INT8_MAX,
                       .factor = factor};
    put_bytes(&run, true);
}

#endif
