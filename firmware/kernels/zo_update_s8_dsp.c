#include "kernels/dsp.h"

#if KERNELS_DSP

#include "arith/bits.h"
#include "arith/psto_shift.h"
#include "kernels/noise_dsp.h"
#include "kernels/zo_update_s8.h"

/* How far zeroth order moves, the sign apart: not at all, by z, or by PstoShift(z, s) with s = 1..6 (r_max has 7 bits at most). */
enum { NOT_AT_ALL = -1, BY_Z = 0 };

/* What stays the same for a tensor, in all bytes. With the limit W of 64..127: */
typedef struct {
    uint32_t to_top;    /* 127 - W: W + to_top is where bytes saturate */
    uint32_t to_bottom; /* 255 - 2 W: from W + to_top on, -W - to_bottom is where they do */
    uint32_t back;      /* 128 - W: what is left to be taken back */
    uint32_t half;      /* 2^(s - h) - 1 of moved() */
} limits_t;

#if defined(__ARM_FEATURE_DSP) && !defined(KERNELS_DSP_IN_C)

/* PstoShift of bytes, h = floor(s / 2): with the magnitude m and its lowest h bits, `lo` (doubled for odd s), adding
   2^(s - h) - 1 - lo to m >> h carries into bit s - h where the bits from h to s of m, `hi`, are greater than lo. No byte reaches its
   neighbour's bits; what the shift brings down from the neighbour ends above the mask. SSUB8 sets the flags of SEL for both the
   magnitude and the direction: nothing between changes them. */
#define MOVED(shifted, to_positive, to_negative)                                       \
    __asm__("ssub8 %[m], %[none], %[z]\n\tsel %[m], %[m], %[z]\n\t"                    \
            "add %[u], %[half], %[m]" shifted "\n\t"                                   \
            "and %[m], %[m], %[low]\n\tsub %[u], %[u], %[m], lsl %[odd]\n\t"           \
            "and %[u], %[mask], %[u], lsr %[up]\n\t"                                   \
            to_negative " %[m], %[w], %[u]\n\t" to_positive " %[u], %[w], %[u]\n\t"    \
            "sel %[u], %[m], %[u]"                                                     \
            : [u] "=&r"(u), [m] "=&r"(m)                                               \
            : [w] "r"(w), [z] "r"(z), [none] "r"(0), [half] "r"(limits->half), [h] "I"(s / 2), [odd] "I"(s % 2), \
              [up] "I"(s - s / 2), [low] "I"(((1u << (s / 2)) - 1) * 0x01010101u), [mask] "r"((0xFFu >> s) * 0x01010101u))

/* w - sign * PstoShift(z, s). */
static inline uint32_t moved(uint32_t w, uint32_t z, int32_t s, int32_t sign, const limits_t *limits) {
    uint32_t u, m;
    if (s == 1 && sign > 0) {
        MOVED("", "qsub8", "qadd8");
    } else if (s == 1) {
        MOVED("", "qadd8", "qsub8");
    } else if (sign > 0) {
        MOVED(", lsr %[h]", "qsub8", "qadd8");
    } else {
        MOVED(", lsr %[h]", "qadd8", "qsub8");
    }
    return u;
}

#else

static inline uint32_t moved(uint32_t w, uint32_t z, int32_t s, int32_t sign, const limits_t *limits) {
    (void)limits;
    uint32_t u = 0;
    for (uint32_t i = 0; i < 4; i++) {
        u |= ((uint32_t)psto_shift(byte_of(z, i), s) & 0xFFu) << (8 * i);
    }
    return sign > 0 ? subtract_bytes(w, u) : add_bytes(w, u);
}

#endif

static inline uint32_t updated(uint32_t w, uint32_t z, int32_t s, int32_t sign, const limits_t *limits) {
    w = add_bytes(add_bytes(w, z), limits->to_top);
    if (s != NOT_AT_ALL) { /* else both limits hold after the one that follows */
        w = unwrap_bytes(subtract_bytes(w, limits->to_bottom), limits->to_bottom);
        w = s != BY_Z ? moved(w, z, s, sign, limits) : sign > 0 ? subtract_bytes(w, z) : add_bytes(w, z);
    }
    return unwrap_bytes(subtract_bytes(w, limits->to_bottom), limits->back);
}

static inline void update_all(int8_t *weights, uint32_t n, noise_t noise, int32_t s, int32_t sign, const limits_t *limits) {
    const noise4_t same = noise4_begin(&noise, 0);
    const limits_t held = *limits;
    for (const int8_t *end = weights + n / 4 * 4; weights != end; weights += 4) {
        store_word(weights, updated(load_word(weights), noise4_of(&same, noise_next(&noise)), s, sign, &held));
    }
    n %= 4;
    if (n > 0) {
        int8_t rest[4] = {0};
        memcpy(rest, weights, n);
        store_word(rest, updated(load_word(rest), noise4_of(&same, noise_next(&noise)), s, sign, &held));
        memcpy(weights, rest, n);
    }
}

/* s is known to the compiler from here on, and so is the sign. */
static void update_by(int8_t *weights, uint32_t n, noise_t noise, int32_t s, int32_t sign, const limits_t *limits) {
#define CASE(known)                                                \
    case known:                                                    \
        if (sign > 0) {                                            \
            update_all(weights, n, noise, known, 1, limits);       \
        } else {                                                   \
            update_all(weights, n, noise, known, -1, limits);      \
        }                                                          \
        break;
    switch (s) {
        CASE(BY_Z)
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
    default:
        update_all(weights, n, noise, NOT_AT_ALL, 1, limits);
        break;
    }
#undef CASE
}

void zo_update_s8(int8_t *weights, uint32_t n, noise_t noise, int32_t sign, int32_t b_zo, int32_t limit) {
    const int32_t s = bits(noise.r_max) - b_zo;
    const int32_t by = sign == 0 ? NOT_AT_ALL : s < 1 ? BY_Z : s;
    const limits_t limits = {
        .to_top = four_times(127 - limit),
        .to_bottom = four_times(255 - 2 * limit),
        .back = four_times(128 - limit),
        .half = by > 0 ? four_times((1 << (by - by / 2)) - 1) : 0,
    };
    update_by(weights, n, noise, by, sign, &limits);
}

#endif
