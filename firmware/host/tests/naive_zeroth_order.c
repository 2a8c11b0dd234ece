#include "naive_zeroth_order.h"

#include <math.h>

#include "arith/random.h"
#include "check.h"

int32_t naive_xi(uint32_t *state) {
    *state = xorshift32(*state);
    return *state % 2 == 1 ? -1 : 1;
}

static __int128 floor_divide(__int128 x, __int128 y) {
    const __int128 quotient = x / y;
    return x % y != 0 && x < 0 ? quotient - 1 : quotient;
}

static __int128 power(int n) {
    return (__int128)1 << n;
}

__int128 naive_divide_up(__int128 x, int n) {
    return n == 0 ? x : floor_divide(x + power(n - 1), power(n));
}

__int128 naive_divide_away(__int128 x, int n) {
    return x < 0 ? -naive_divide_up(-x, n) : naive_divide_up(x, n);
}

int64_t naive_rescale(int64_t acc, int64_t multiplier, int shift, bool single) {
    if (single) {
        return (int64_t)naive_divide_up((__int128)acc * multiplier, 31 - shift);
    }
    __int128 raised = (__int128)acc * power(shift > 0 ? shift : 0);
    raised = raised > INT32_MAX ? INT32_MAX : raised < INT32_MIN ? INT32_MIN : raised;
    return (int64_t)naive_divide_away(naive_divide_up(raised * multiplier, 31), shift < 0 ? -shift : 0);
}

float naive_factor(const naive_update_t *u) {
    const uint32_t losses = u->samples * u->queries;
    float f = u->eta;
    if (u->gns) {
        f = (float)((double)f * (float)((double)(float)losses / (double)(float)(losses + u->dimensions - 1)));
    }
    f = (float)((double)f / (double)(float)losses);
    if (u->nodes) {
        f = (float)((double)f * ldexp((double)(float)u->multiplier, u->shift - 31));
    }
    if (u->qas) {
        const float unit = u->bias ? (float)((double)u->input_scale * (double)u->weight_scale) : u->weight_scale;
        f = (float)((double)f / (double)unit);
        f = (float)((double)f / (double)unit);
    }
    return f;
}

int64_t naive_update_step(const naive_update_t *u, int64_t gradient, int exponent) {
    const float f = naive_factor(u);
    if (!isnormal(f)) {
        return 0;
    }
    int k;
    const int64_t m = (int64_t)ldexp(frexp((double)f, &k), 24);
    k -= 24;
    if (u->bias && !u->nodes) {
        const int wanted = u->shift < 0 ? -u->shift : 0;
        exponent -= wanted < 20 ? wanted : 20;
    }
    const int n = -(k + exponent);
    if (n > 62) {
        return 0;
    }
    const __int128 exact = (__int128)gradient * m;
    const __int128 step = n <= 0 ? exact * power(-n < 31 ? -n : 31) : naive_divide_away(exact, n);
    return (int64_t)(step > power(30) ? power(30) : step < -power(30) ? -power(30) : step);
}
