/* Inputs of int16 times rows of weights: docs/arithmetic-w16a8.md, section 2. With DSP instructions:
   w16a8_sums_dsp.c. */
#include "kernels/w16a8_sums.h"

#include <stddef.h>

#include "arith/integers.h"
#include "kernels/core.h"

#if KERNELS_THUMB1

enum {
    CHANNELS = 4, /* at a time */
    PANEL = 32,   /* whose sums lie on the stack */
};

/* A vector by four channels after four of a layer. The fields are as the assembly keeps them. */
typedef struct {
    const int16_t *x_end, *w_end[CHANNELS];
    int32_t *sum; /* of all channels, one after the other */
    const int32_t *sum_end;
    int32_t from;  /* of the first tap, in bytes before the end; there is one at least */
    uint32_t step; /* bytes from a channel to that after the next four */
} products_t;

#if defined(__ARM_ARCH_6M__)

_Static_assert(offsetof(products_t, step) == 32, "the assembly knows the fields");

#define TAP                                                                                                            \
    "ldrsh r6, [r0, r5]\n"                                                                                             \
    "ldrsh r7, [r1, r5]\n muls r7, r6\n add r8, r7\n"                                                                  \
    "ldrsh r7, [r2, r5]\n muls r7, r6\n add r9, r7\n"                                                                  \
    "ldrsh r7, [r3, r5]\n muls r7, r6\n add r10, r7\n"                                                                 \
    "ldrsh r7, [r4, r5]\n muls r7, r6\n add r11, r7\n"                                                                 \
    "adds r5, #2\n"

/* 14 instructions for 4 products. r0-r4 the ends of the vector and of the channels, r5 the tap, r8-r11 the sums, r12
   where the loop is entered. Four taps are unrolled; the first turn begins where only the rest of a division by four is
   left. On the stack: the sums, their end, the first tap, the step. */
__attribute__((naked)) static void multiply(const products_t *products) {
    __asm__ volatile(".syntax unified\n" SAVE_ALL
                     "ldr r1, [r0, #20]\n ldr r2, [r0, #24]\n ldr r3, [r0, #28]\n ldr r4, [r0, #32]\n"
                     "push {r1-r4}\n asrs r3, r3, #1\n movs r2, #3\n ands r3, r2\n"
                     "movs r2, #28\n muls r3, r2\n adr r2, 2f\n adds r3, r3, r2\n"
                     "mov r12, r3\n"
                     "ldm r0, {r0-r4}\n"
                     "1:\n movs r6, #0\n"
                     "mov r8, r6\n mov r9, r6\n mov r10, r6\n mov r11, r6\n"
                     "ldr r5, [sp, #8]\n mov pc, r12\n"
                     ".balign 4\n"
                     "2:\n" TAP TAP TAP TAP
                     "bne 2b\n"
                     "ldr r7, [sp]\n"
                     "mov r5, r8\n mov r6, r9\n stm r7!, {r5, r6}\n"
                     "mov r5, r10\n mov r6, r11\n stm r7!, {r5, r6}\n"
                     "str r7, [sp]\n"
                     "ldr r5, [sp, #12]\n"
                     "adds r1, r1, r5\n adds r2, r2, r5\n adds r3, r3, r5\n adds r4, r4, r5\n"
                     "ldr r5, [sp, #4]\n"
                     "cmp r7, r5\n bne 1b\n"
                     "add sp, #16\n" RESTORE_ALL);
}

#else

static void multiply(const products_t *products) {
    int32_t to = 0;
    for (int32_t *sum = products->sum; sum != products->sum_end; to += (int32_t)products->step / 2) {
        for (uint32_t c = 0; c < CHANNELS; c++) {
            int32_t all = 0;
            for (int32_t i = products->from / 2; i < 0; i++) {
                all += products->x_end[i] * products->w_end[c][to + i];
            }
            *sum++ = all;
        }
    }
}

#endif

/* Each loop has the registers for itself. */
/* sum = the upper 32 bits of its product with the multiplier, by halves. */
SEPARATE static void multiply_upper(int32_t *sum, const int32_t *end, int32_t multiplier) {
    const uint32_t low = (uint32_t)multiplier & 0xFFFFu, high = (uint32_t)multiplier >> 16;
    for (; sum != end; sum++) {
        const int32_t upper = *sum >> 16;
        const uint32_t lower = (uint32_t)*sum & 0xFFFFu;
        const int32_t middle = upper * (int32_t)low + (int32_t)(lower * low >> 16);
        const uint32_t rest = lower * high + ((uint32_t)middle & 0xFFFFu);
        *sum = upper * (int32_t)high + (middle >> 16) + (int32_t)(rest >> 16);
    }
}

SEPARATE static void add_biases(int32_t *sum, const int32_t *end, const int32_t *bias) {
    for (; sum != end; sum++) {
        *sum = add_sat32(*sum, *bias++);
    }
}

/* What is left of rescale, and the limits. */
SEPARATE static void put_outputs(const int32_t *sum, const int32_t *end, const w16a8_layer_t *layer, int8_t *out) {
    const int32_t right = -layer->shift - 1, half = 1 << (right - 1), zero = layer->output_zero, least = layer->act_min,
                  most = layer->act_max;
    for (; sum != end; sum++) {
        int32_t value = ((*sum + half) >> right) + zero;
        value = value > most ? most : value;
        *out++ = (int8_t)(value < least ? least : value);
    }
}

void w16a8_outputs(int32_t *acc, uint32_t n, const w16a8_layer_t *layer, int8_t *out) {
    multiply_upper(acc, acc + n, layer->multiplier);
    put_outputs(acc, acc + n, layer, out);
}

/* A vector with some channels: a multiple of four, or fewer than four, of which the last one is there again. */
typedef struct {
    const int16_t *x, *weights;
    uint32_t taps, channels;
} panel_t;

/* The sums of taps from..end - 1, which fit. */
static void multiply_part(const panel_t *panel, uint32_t from, uint32_t end, int32_t *sum) {
    const uint32_t taps = panel->taps, last = panel->channels - 1;
    products_t products = {.x_end = panel->x + end,
                           .sum = sum,
                           .sum_end = sum + (panel->channels + CHANNELS - 1) / CHANNELS * CHANNELS,
                           .from = 2 * ((int32_t)from - (int32_t)end),
                           .step = CHANNELS * 2 * taps};
    for (uint32_t c = 0; c < CHANNELS; c++) {
        products.w_end[c] = panel->weights + (c < last ? c : last) * taps + end;
    }
    multiply(&products);
}

/* More taps than fit: the sums with their biases, held in 32 bits. */
static void multiply_long(const panel_t *panel, const int32_t *bias, int32_t *sum) {
    int64_t all[PANEL];
    for (uint32_t c = 0; c < panel->channels; c++) {
        all[c] = bias[c];
    }
    for (uint32_t from = 0; from < panel->taps; from += W16A8_FIT) {
        multiply_part(panel, from, panel->taps - from < W16A8_FIT ? panel->taps : from + W16A8_FIT, sum);
        for (uint32_t c = 0; c < panel->channels; c++) {
            all[c] += sum[c];
        }
    }
    for (uint32_t c = 0; c < panel->channels; c++) {
        sum[c] = all[c] > INT32_MAX ? INT32_MAX : all[c] < INT32_MIN ? INT32_MIN : (int32_t)all[c];
    }
}

static void run_panel(const panel_t *panel, const int32_t *bias, const w16a8_layer_t *layer, int8_t *out) {
    int32_t sum[PANEL];
    const int32_t *end = sum + panel->channels;
    if (panel->taps > W16A8_FIT) {
        multiply_long(panel, bias, sum);
    } else {
        multiply_part(panel, 0, panel->taps, sum);
        add_biases(sum, end, bias);
    }
    w16a8_outputs(sum, panel->channels, layer, out);
}

void w16a8_rows(const int16_t *vectors, uint32_t count, const int16_t *weights, uint32_t taps, uint32_t channels,
                const w16a8_layer_t *layer, int8_t *out) {
    for (uint32_t v = 0; v < count; v++, out += channels) {
        panel_t panel = {.x = vectors + v * w16a8_vector(taps), .weights = weights, .taps = taps};
        for (uint32_t o = 0; o < channels; o += panel.channels, panel.weights += panel.channels * taps) {
            const uint32_t left = channels - o;
            panel.channels = left >= PANEL ? PANEL : left >= CHANNELS ? left / CHANNELS * CHANNELS : left;
            run_panel(&panel, layer->bias + o, layer, out + o);
        }
    }
}

#elif !KERNELS_DSP /* else w16a8_sums_dsp.c */

static inline int8_t output_of(int32_t acc, const w16a8_layer_t *layer) {
    const int32_t value = w16a8_rescale(acc, layer->multiplier, layer->shift) + layer->output_zero;
    const int32_t held = value > layer->act_max ? layer->act_max : value;
    return (int8_t)(held < layer->act_min ? layer->act_min : held);
}

void w16a8_outputs(int32_t *acc, uint32_t n, const w16a8_layer_t *layer, int8_t *out) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = output_of(acc[i], layer);
    }
}

/* Of two parts, in the innermost loop the length is a constant: the compiler takes several lanes at a time. */
static int64_t sum_products(const int16_t *x, const int16_t *w, uint32_t n) {
    int64_t all = 0;
    for (; n >= W16A8_FIT; n -= W16A8_FIT, x += W16A8_FIT, w += W16A8_FIT) {
        int32_t sum = 0;
        for (uint32_t i = 0; i < W16A8_FIT; i++) {
            sum += x[i] * w[i];
        }
        all += sum;
    }
    int32_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += x[i] * w[i];
    }
    return all + sum;
}

void w16a8_rows(const int16_t *vectors, uint32_t count, const int16_t *weights, uint32_t taps, uint32_t channels,
                const w16a8_layer_t *layer, int8_t *out) {
    for (uint32_t v = 0; v < count; v++, vectors += w16a8_vector(taps)) {
        const int16_t *row = weights;
        for (uint32_t o = 0; o < channels; o++, row += taps) {
            const int64_t sum = sum_products(vectors, row, taps) + layer->bias[o];
            *out++ = output_of(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : (int32_t)sum, layer);
        }
    }
}

#endif
