/* Inputs of int16 times rows of weights with DSP instructions: docs/arithmetic-w16a8.md, section 2. */
#include "kernels/w16a8_sums.h"

#include <stdbool.h>
#include <stddef.h>

#include "kernels/dsp.h"

#if KERNELS_DSP

enum {
    GROUP = 4,     /* taps */
    CHANNELS = 32, /* whose sums lie on the stack */
};

/* Two channels after two of a layer, with one or two vectors. The fields are as the assembly keeps them. */
typedef struct {
    const int16_t *x[2]; /* aligned to words */
    const int16_t *w[2]; /* the first channels */
    const int16_t *end;  /* of the groups of x[0] */
    int32_t gap;         /* bytes from after the taps of a channel to those of the channel after the next */
    int32_t *sum;        /* of the first vector with both channels, then of the second, and so on for all channels */
    const int32_t *sum_end;
    uint32_t groups; /* of four taps, one at least */
} products_t;

typedef void multiply_t(const products_t *products);

#if defined(__ARM_FEATURE_DSP) && !defined(KERNELS_DSP_IN_C)

_Static_assert(offsetof(products_t, groups) == 32, "the assembly knows the fields");

/* By hand, because two channels by two vectors need all fourteen registers and the compiler spills: r0 and r1 where the
   vectors are, r2 and r3 where the channels are, r4-r7 weights, r8 and r9 inputs, r10-r12 and lr sums. A group is 12
   instructions for 16 products, with one vector 7 for 8, and two more where weights are not aligned to words. Eight
   groups are unrolled; the first turn begins where only the rest of a division by eight is left. All instructions of a
   group have 32 bits, so that it can be entered by its number. */
#define ALIGNED "ldrd r4, r5, [r2], #8\n\tldrd r6, r7, [r3], #8\n\t"
#define ANYWHERE "ldr r4, [r2], #4\n\tldr.w r5, [r2], #4\n\tldr r6, [r3], #4\n\tldr.w r7, [r3], #4\n\t"
#define FIRST                                                                                                          \
    "ldrd r8, r9, [r0], #8\n\tsmlad r10, r4, r8, r10\n\tsmlad r11, r6, r8, r11\n\t"                                    \
    "smlad r10, r5, r9, r10\n\tsmlad r11, r7, r9, r11\n\t"
#define SECOND                                                                                                         \
    "ldrd r8, r9, [r1], #8\n\tsmlad r12, r4, r8, r12\n\tsmlad lr, r6, r8, lr\n\t"                                      \
    "smlad r12, r5, r9, r12\n\tsmlad lr, r7, r9, lr\n\t"

/* What groups leave: two taps, one. */
#define NO_TAP ""
#define TWO_TAPS "ldr r4, [r2], #4\n\tldr r6, [r3], #4\n\t"
#define TWO_FIRST "ldr r8, [r0], #4\n\tsmlad r10, r4, r8, r10\n\tsmlad r11, r6, r8, r11\n\t"
#define TWO_SECOND "ldr r8, [r1], #4\n\tsmlad r12, r4, r8, r12\n\tsmlad lr, r6, r8, lr\n\t"
#define ONE_TAP "ldrsh r4, [r2], #2\n\tldrsh r6, [r3], #2\n\t"
#define ONE_FIRST "ldrsh r8, [r0], #2\n\tmla r10, r4, r8, r10\n\tmla r11, r6, r8, r11\n\t"
#define ONE_SECOND "ldrsh r8, [r1], #2\n\tmla r12, r4, r8, r12\n\tmla lr, r6, r8, lr\n\t"

#define MULTIPLY(name, group, group_bytes, rest, sums)                                                                 \
    __attribute__((naked)) static void name(const products_t *products) {                                              \
        __asm__ volatile(                                                                                              \
            "push {r4-r11, lr}\n\t"                                                                                    \
            "ldr r9, [r0, #32]\n\trsb r9, r9, #0\n\tand r9, r9, #7\n\t"                                                \
            "mov r10, #" group_bytes                                                                                   \
            "\n\t"                                                                                                     \
            "adr.w r11, 2f\n\tmla r9, r9, r10, r11\n\torr r9, r9, #1\n\t"                                              \
            "ldm r0, {r1-r8}\n\t"                                                                                      \
            "push {r1, r2, r5, r6, r7, r8, r9}\n\t"                                                                    \
            "mov r2, r3\n\tmov r3, r4\n\t"                                                                             \
            "1:\n\t" /* two channels */                                                                                \
            "ldrd r0, r1, [sp]\n\tldr r4, [sp, #24]\n\t"                                                               \
            "mov r10, #0\n\tmov r11, #0\n\tmov r12, #0\n\tmov lr, #0\n\t"                                              \
            "bx r4\n\t"                                                                                                \
            ".balign 4\n\t"                                                                                            \
            "2:\n\t" group group group group group group group group                                                   \
            "ldr r4, [sp, #8]\n\t"                                                                                     \
            "cmp r0, r4\n\t"                                                                                           \
            "bne 2b\n\t" rest                                                                                          \
            "ldrd r4, r5, [sp, #12]\n\tadd r2, r2, r4\n\tadd r3, r3, r4\n\t"                                           \
            "stm r5!, {" sums                                                                                          \
            "}\n\t"                                                                                                    \
            "ldr r6, [sp, #20]\n\tstr r5, [sp, #16]\n\t"                                                               \
            "cmp r5, r6\n\tbne 1b\n\t"                                                                                 \
            "add sp, sp, #28\n\t"                                                                                      \
            "pop {r4-r11, pc}\n\t");                                                                                   \
    }

#define ONE_VECTOR "r10, r11"
#define TWO_VECTORS "r10, r11, r12, lr"
MULTIPLY(one_0, ALIGNED FIRST, "28", NO_TAP, ONE_VECTOR)
MULTIPLY(one_1, ANYWHERE FIRST, "36", ONE_TAP ONE_FIRST, ONE_VECTOR)
MULTIPLY(one_2, ALIGNED FIRST, "28", TWO_TAPS TWO_FIRST, ONE_VECTOR)
MULTIPLY(one_3, ANYWHERE FIRST, "36", TWO_TAPS TWO_FIRST ONE_TAP ONE_FIRST, ONE_VECTOR)
MULTIPLY(one_4, ANYWHERE FIRST, "36", NO_TAP, ONE_VECTOR)
MULTIPLY(two_0, ALIGNED FIRST SECOND, "48", NO_TAP, TWO_VECTORS)
MULTIPLY(two_1, ANYWHERE FIRST SECOND, "56", ONE_TAP ONE_FIRST ONE_SECOND, TWO_VECTORS)
MULTIPLY(two_2, ALIGNED FIRST SECOND, "48", TWO_TAPS TWO_FIRST TWO_SECOND, TWO_VECTORS)
MULTIPLY(two_3, ANYWHERE FIRST SECOND, "56", TWO_TAPS TWO_FIRST TWO_SECOND ONE_TAP ONE_FIRST ONE_SECOND, TWO_VECTORS)
MULTIPLY(two_4, ANYWHERE FIRST SECOND, "56", NO_TAP, TWO_VECTORS)

#else

static inline void multiply_in_c(const products_t *products, uint32_t vectors, uint32_t rest) {
    const uint32_t taps = GROUP * products->groups + rest;
    const int16_t *w[2] = {products->w[0], products->w[1]};
    for (int32_t *sum = products->sum; sum != products->sum_end;) {
        for (uint32_t s = 0; s < 2 * vectors; s++) {
            int32_t all = 0;
            for (uint32_t i = 0; i < taps; i++) {
                all += products->x[s / 2][i] * w[s % 2][i];
            }
            *sum++ = all;
        }
        w[0] += (int32_t)taps + products->gap / 2;
        w[1] += (int32_t)taps + products->gap / 2;
    }
}

#define MULTIPLY(name, vectors, rest)                                                                                  \
    static void name(const products_t *products) {                                                                     \
        multiply_in_c(products, vectors, rest);                                                                        \
    }

MULTIPLY(one_0, 1, 0)
MULTIPLY(one_1, 1, 1)
MULTIPLY(one_2, 1, 2)
MULTIPLY(one_3, 1, 3)
MULTIPLY(one_4, 1, 0)
MULTIPLY(two_0, 2, 0)
MULTIPLY(two_1, 2, 1)
MULTIPLY(two_2, 2, 2)
MULTIPLY(two_3, 2, 3)
MULTIPLY(two_4, 2, 0)

#endif

/* One or two vectors with some channels. */
typedef struct {
    const int16_t *x;
    const int16_t *weights;
    uint32_t vectors, taps;
    uint32_t channels; /* even, or one */
} panel_t;

/* Fewer taps than a group has, from..from + n - 1. */
static void multiply_few(const panel_t *panel, uint32_t from, uint32_t n, int32_t *sum) {
    const uint32_t taps = panel->taps, to_second = w16a8_vector(taps);
    for (uint32_t o = 0; o < panel->channels; o += 2) {
        for (uint32_t s = 0; s < 2 * panel->vectors; s++) {
            const uint32_t second = panel->channels > 1 ? s % 2 : 0;
            const int16_t *x = panel->x + s / 2 * to_second + from, *w = panel->weights + (o + second) * taps + from;
            int32_t all = 0;
            for (uint32_t i = 0; i < n; i++) {
                all += x[i] * w[i];
            }
            *sum++ = all;
        }
    }
}

/* The sums of taps from..from + n - 1, which fit: two channels of the first vector, the same of the second, and so
   on. Of one channel they are there twice. */
static void multiply(const panel_t *panel, uint32_t from, uint32_t n, int32_t *sum) {
    static multiply_t *const kinds[2][GROUP + 1] = {{one_0, one_1, one_2, one_3, one_4},
                                                    {two_0, two_1, two_2, two_3, two_4}};
    if (n < GROUP) {
        multiply_few(panel, from, n, sum);
        return;
    }
    const bool whole_of_odd = n % GROUP == 0 && panel->taps % 2 != 0;
    const bool lonely = panel->channels == 1;
    const uint32_t pairs = (panel->channels + 1) / 2;
    const int16_t *x = panel->x + from, *w = panel->weights + from;
    const products_t products = {.x = {x, x + w16a8_vector(panel->taps)},
                                 .w = {w, w + (lonely ? 0 : panel->taps)},
                                 .end = x + (n & ~3u),
                                 .gap = 2 * ((int32_t)(2 * panel->taps) - (int32_t)n),
                                 .sum = sum,
                                 .sum_end = sum + 2 * panel->vectors * pairs,
                                 .groups = n / GROUP};
    kinds[panel->vectors - 1][whole_of_odd ? GROUP : n % GROUP](&products);
}

/* What is the same for all outputs of a layer. */
typedef struct {
    int32_t multiplier, half, right, zero, least, most;
} outputs_t;

static inline int32_t output_of(int32_t acc, const outputs_t *layer) {
    const int32_t value = (sum_of_upper_product(layer->half, acc, layer->multiplier) >> layer->right) + layer->zero;
    const int32_t held = value > layer->most ? layer->most : value;
    return held < layer->least ? layer->least : held;
}

static outputs_t outputs_of(const w16a8_layer_t *layer) {
    return (outputs_t){.multiplier = layer->multiplier,
                       .half = 1 << (-layer->shift - 2),
                       .right = -layer->shift - 1,
                       .zero = layer->output_zero,
                       .least = layer->act_min,
                       .most = layer->act_max};
}

void w16a8_outputs(int32_t *acc, uint32_t n, const w16a8_layer_t *layer, int8_t *out) {
    const outputs_t outputs = outputs_of(layer);
    for (const int32_t *const end = acc + n; acc != end; acc++) {
        *out++ = (int8_t)output_of(*acc, &outputs);
    }
}

/* Outputs of one or of two vectors, from sums whose biases are to be added. */
static inline void put_outputs(const int32_t *sum, const panel_t *panel, const int32_t *bias, const outputs_t *layer,
                               uint32_t vectors, uint32_t to_second, int8_t *out) {
    const outputs_t outputs = *layer;
    for (const int8_t *const end = out + (panel->channels & ~1u); out != end; out += 2, bias += 2) {
        const int32_t first = bias[0], second = bias[1];
        out[0] = (int8_t)output_of(add_saturating(*sum++, first), &outputs);
        out[1] = (int8_t)output_of(add_saturating(*sum++, second), &outputs);
        if (vectors > 1) {
            out[to_second] = (int8_t)output_of(add_saturating(*sum++, first), &outputs);
            out[to_second + 1] = (int8_t)output_of(add_saturating(*sum++, second), &outputs);
        }
    }
    for (uint32_t v = 0; panel->channels == 1 && v < vectors; v++) {
        out[v * to_second] = (int8_t)output_of(add_saturating(sum[2 * v], *bias), &outputs);
    }
}

/* More taps than fit: the sums with their biases, held in 32 bits. */
static void multiply_long(const panel_t *panel, const int32_t *bias, int32_t *sum) {
    int64_t all[2 * CHANNELS];
    const uint32_t each = 2 * panel->vectors, sums = each * ((panel->channels + 1) / 2);
    for (uint32_t i = 0; i < sums; i++) {
        all[i] = bias[panel->channels > 1 ? i / each * 2 + i % 2 : 0];
    }
    for (uint32_t from = 0; from < panel->taps; from += W16A8_FIT) {
        const uint32_t left = panel->taps - from;
        multiply(panel, from, left < W16A8_FIT ? left : W16A8_FIT, sum);
        for (uint32_t i = 0; i < sums; i++) {
            all[i] += sum[i];
        }
    }
    for (uint32_t i = 0; i < sums; i++) {
        sum[i] = all[i] > INT32_MAX ? INT32_MAX : all[i] < INT32_MIN ? INT32_MIN : (int32_t)all[i];
    }
}

static void run_panel(const panel_t *panel, const int32_t *bias, const outputs_t *outputs, uint32_t to_second,
                      int8_t *out) {
    static const int32_t none[CHANNELS];
    int32_t sum[2 * CHANNELS];
    const bool is_long = panel->taps > W16A8_FIT;
    if (is_long) {
        multiply_long(panel, bias, sum);
    } else {
        multiply(panel, 0, panel->taps, sum);
    }
    if (panel->vectors > 1) {
        put_outputs(sum, panel, is_long ? none : bias, outputs, 2, to_second, out);
    } else {
        put_outputs(sum, panel, is_long ? none : bias, outputs, 1, to_second, out);
    }
}

/* An odd last channel is computed twice. */
void w16a8_rows(const int16_t *vectors, uint32_t count, const int16_t *weights, uint32_t taps, uint32_t channels,
                const w16a8_layer_t *layer, int8_t *out) {
    const outputs_t outputs = outputs_of(layer);
    panel_t panel = {.x = vectors, .weights = weights, .vectors = count, .taps = taps};
    for (uint32_t o = 0; o < channels; o += panel.channels, panel.weights += panel.channels * taps) {
        const uint32_t left = channels - o;
        panel.channels = left >= CHANNELS ? CHANNELS : left > 1 ? left & ~1u : 1;
        run_panel(&panel, layer->bias + o, &outputs, channels, out + o);
    }
}

#endif
