#include "naive.h"

#include <math.h>
#include <stdlib.h>

#include "check.h"

int64_t naive_power(int64_t n) {
    int64_t power = 1;
    for (int64_t i = 0; i < n; i++) {
        power *= 2;
    }
    return power;
}

static int64_t floor_division(int64_t x, int64_t y) {
    return x / y - (x % y < 0 ? 1 : 0);
}

int64_t naive_clip(int64_t x, int64_t limit) {
    if (x > limit) {
        return limit;
    }
    return x < -limit ? -limit : x;
}

int64_t naive_clip127(int64_t x) {
    return naive_clip(x, 127);
}

int64_t naive_sat32(int64_t x) {
    if (x > INT32_MAX) {
        return INT32_MAX;
    }
    return x < INT32_MIN ? INT32_MIN : x;
}

int64_t naive_trunc(int64_t x, int64_t n) {
    return n >= 31 ? 0 : x / naive_power(n);
}

int64_t naive_bits(uint64_t m) {
    int64_t n = 0;
    while (m > 0) {
        m /= 2;
        n++;
    }
    return n;
}

int64_t naive_round_shift(int64_t x, int64_t s) {
    const int64_t q = x / naive_power(s);
    const int64_t r = x - q * naive_power(s);
    return naive_clip127(q + r / naive_power(s - 1));
}

int64_t naive_psto_shift(int64_t x, int64_t s) {
    if (s == 0) {
        return naive_clip127(x);
    }
    const int64_t q = x / naive_power(s);
    const int64_t p = llabs(x - q * naive_power(s));
    const int64_t h = s / 2;
    const int64_t hi = p / naive_power(h);
    int64_t lo = p - hi * naive_power(h);
    if (s % 2 == 1) {
        lo = 2 * lo;
    }
    const int64_t sign = x > 0 ? 1 : x < 0 ? -1 : 0;
    return naive_clip127(q + sign * (hi > lo ? 1 : 0));
}

static float rounded(double x) {
    volatile float result = (float)x;
    return result;
}

static float times(float x, float y) {
    return rounded((double)x * (double)y);
}

static float plus(float x, float y) {
    return rounded((double)x + (double)y);
}

float naive_exp32(float x) {
    if (x < -87.0f) {
        return 0.0f;
    }
    const float k = (float)nearbyint((double)times(x, 0x1.715476p+0f));
    const float r = plus(plus(x, -times(k, 0x1.62e400p-1f)), -times(k, 0x1.7f7d1cp-20f));
    float p = rounded(1.0 / 5040.0);
    for (int i = 6; i >= 0; i--) {
        p = plus(times(p, r), rounded(1.0 / tgamma(i + 1)));
    }
    return rounded(ldexp((double)p, (int)k));
}

float naive_log32(float x) {
    int exponent;
    float m = rounded(2.0 * frexp((double)x, &exponent));
    float k = (float)(exponent - 1);
    if (m > 0x1.6a09e6p+0f) {
        m = times(m, 0.5f);
        k = plus(k, 1.0f);
    }
    const float f = rounded((double)plus(m, -1.0f) / (double)plus(m, 1.0f));
    const float q = times(f, f);
    float p = rounded(1.0 / 9.0);
    for (int i = 3; i >= 0; i--) {
        p = plus(times(p, q), rounded(1.0 / (2 * i + 1)));
    }
    return plus(times(k, 0x1.62e400p-1f), plus(times(times(2.0f, f), p), times(k, 0x1.7f7d1cp-20f)));
}

void naive_conv2d(const layer_shape_t *s, naive_visit_t *visit, void *context) {
    for (uint32_t o = 0; o < s->out_c; o++) {
        for (uint32_t y = 0; y < s->out_h; y++) {
            for (uint32_t x = 0; x < s->out_w; x++) {
                for (uint32_t i = 0; i < (uint32_t)s->kernel_h * s->kernel_w * s->in_c; i++) {
                    const uint32_t c = i % s->in_c, kx = i / s->in_c % s->kernel_w, ky = i / s->in_c / s->kernel_w;
                    const int64_t in_y = (int64_t)y + ky - s->padding_h, in_x = (int64_t)x + kx - s->padding_w;
                    if (in_y >= 0 && in_y < s->in_h && in_x >= 0 && in_x < s->in_w) {
                        const uint32_t at = (uint32_t)((in_y * s->in_w + in_x) * s->in_c + c);
                        visit(context, o * s->kernel_h * s->kernel_w * s->in_c + i, at,
                              (y * s->out_w + x) * s->out_c + o);
                    }
                }
            }
        }
    }
}

/* Index of the first maximum of a window of max_pool. */
static uint32_t pool_source(const int8_t *in, const layer_shape_t *s, uint32_t y, uint32_t x, uint32_t c) {
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < (uint32_t)s->kernel_h * s->kernel_h; i++) {
        const uint32_t in_y = y * s->kernel_h + i / s->kernel_h, in_x = x * s->kernel_h + i % s->kernel_h;
        const uint32_t at = (in_y * s->in_w + in_x) * s->in_c + c;
        if (best == UINT32_MAX || in[at] > in[best]) {
            best = at;
        }
    }
    return best;
}

void naive_max_pool(const int8_t *in, const layer_shape_t *s, int8_t *out) {
    for (uint32_t i = 0; i < shape_outputs(s); i++) {
        out[i] = in[pool_source(in, s, i / s->in_c / s->out_w, i / s->in_c % s->out_w, i % s->in_c)];
    }
}

void naive_max_pool_backward(const int8_t *in, const int8_t *error, const layer_shape_t *s, int8_t *input_error) {
    for (uint32_t i = 0; i < shape_inputs(s); i++) {
        input_error[i] = 0;
    }
    for (uint32_t i = 0; i < shape_outputs(s); i++) {
        input_error[pool_source(in, s, i / s->in_c / s->out_w, i / s->in_c % s->out_w, i % s->in_c)] = error[i];
    }
}

int32_t naive_requantize(const int64_t *acc, uint32_t n, int8_t *out) {
    int64_t m = 0;
    for (uint32_t i = 0; i < n; i++) {
        m = llabs(acc[i]) > m ? llabs(acc[i]) : m;
    }
    const int64_t s = naive_bits((uint64_t)m) - 7;
    for (uint32_t i = 0; i < n; i++) {
        out[i] = (int8_t)(s > 0 ? naive_round_shift(acc[i], s) : acc[i]);
    }
    return (int32_t)(s > 0 ? s : 0);
}

static int64_t above_label(const int8_t *logits, int32_t s, uint32_t j, uint32_t label, int64_t fraction) {
    const int64_t raised = s < -16 ? -16 : s, clamped = raised > 15 - fraction ? 15 - fraction : raised;
    return floor_division(47274 * ((int64_t)logits[j] - logits[label]), naive_power(15 - fraction - clamped));
}

/* One summand of A: 2^t, or T[i] * 2^n, with T from the C library. */
static int64_t naive_term(int64_t t, int64_t fraction) {
    if (fraction == 0) {
        return naive_power(t);
    }
    const int64_t n = t / naive_power(fraction), i = t % naive_power(fraction) * naive_power(6 - fraction);
    return llround(exp2(12.0 + (double)i / 64.0)) * naive_power(n);
}

static int64_t sum_above(const int8_t *logits, int32_t s, uint32_t n, uint32_t label, int64_t fraction, int64_t p) {
    int64_t sum = 0;
    for (uint32_t j = 0; j < n; j++) {
        const int64_t t = above_label(logits, s, j, label, fraction) - p;
        sum += naive_term(t > 0 ? t : 0, fraction);
    }
    return sum;
}

naive_terms_t naive_integer_loss(const int8_t *plus, int32_t plus_exponent, const int8_t *minus, int32_t minus_exponent,
                                 uint32_t n, uint32_t label, int64_t fraction) {
    int64_t largest = INT64_MIN;
    for (uint32_t j = 0; j < n; j++) {
        const int64_t a = above_label(plus, plus_exponent, j, label, fraction);
        const int64_t b = above_label(minus, minus_exponent, j, label, fraction);
        largest = a > largest ? a : largest;
        largest = b > largest ? b : largest;
    }
    const int64_t p = largest - 10 * naive_power(fraction);
    return (naive_terms_t){
        .a = sum_above(plus, plus_exponent, n, label, fraction, p),
        .b = sum_above(minus, minus_exponent, n, label, fraction, p),
    };
}

int64_t naive_log2(int64_t x, int64_t fraction) {
    const int64_t n = naive_bits((uint64_t)x) - 1;
    __int128 m = (__int128)x * naive_power(31 - n);
    int64_t r = n;
    for (int64_t i = 0; i < fraction; i++) {
        m = m * m / naive_power(31);
        const bool above = m >= naive_power(32);
        r = above ? 2 * r + 1 : 2 * r;
        m = above ? m / 2 : m;
    }
    return r;
}

static int64_t softmax_term(const int8_t *logits, uint32_t n, int64_t s, uint8_t form, uint32_t j) {
    if (s > -7) {
        const int64_t divisor = naive_power(15 - (s < 8 ? s : 8));
        int64_t largest = INT64_MIN;
        for (uint32_t i = 0; i < n; i++) {
            const int64_t h = floor_division(logits[i] * (int64_t)47274, divisor);
            largest = h > largest ? h : largest;
        }
        const int64_t t = floor_division(logits[j] * (int64_t)47274, divisor) - (largest - 10);
        return naive_power(t > 0 ? t : 0) - (form == LOGIT_ERROR_NITI);
    }
    const int64_t shift = -8 - s < 0 ? 0 : -8 - s > 8 ? 8 : -8 - s;
    const int64_t a = logits[j] / naive_power(shift);
    const int64_t clamped = s > -8 ? s : -8;
    return naive_power(1 - 2 * clamped) + a * naive_power(1 - clamped) + a * a;
}

void naive_softmax_error(const int8_t *logits, uint32_t n, int32_t s, uint32_t label, uint8_t form, int8_t *error) {
    int64_t sum = 0, all = 0, others = 0;
    for (uint32_t j = 0; j < n; j++) {
        sum += softmax_term(logits, n, s, form, j);
    }
    CHECK(sum > 0 && sum <= UINT32_MAX, "the text wants 32 bits");
    int64_t *share = take(n * sizeof *share);
    for (uint32_t j = 0; j < n; j++) {
        share[j] = softmax_term(logits, n, s, form, j) * 2048 / sum;
        all += share[j];
        error[j] = (int8_t)naive_psto_shift(share[j], 4);
        others += j == label ? 0 : error[j];
    }
    error[label] = form == LOGIT_ERROR_NITI ? (int8_t)naive_psto_shift(share[label] - all, 4)
                                            : (int8_t)(others > 127 ? -127 : -others);
    free(share);
}
