/* max_pool of the format bfp8, forward: docs/arithmetic.md, section 4. */
#include "kernels/pooling.h"

#include "kernels/dsp.h"
#include "kernels/pools.h"

#if KERNELS_DSP

/* The maxima of four channels of a window, k x k positions `column` and `row` bytes apart. */
static inline uint32_t four_maxima(const int8_t *in, uint32_t k, uint32_t column, uint32_t row) {
    uint32_t maximum = load_word(in);
    for (uint32_t ky = 0; ky < k; ky++) {
        for (uint32_t kx = ky == 0 ? 1 : 0; kx < k; kx++) {
            const uint32_t next = load_word(in + ky * row + kx * column);
            maximum = where_at_least_s8(maximum, next, maximum, next);
        }
    }
    return maximum;
}

/* All channels of a window. The last four of them may have been among the first. */
static inline void pool_channels(const int8_t *in, uint32_t k, uint32_t column, uint32_t row, int8_t *out) {
    if (column < 4) {
        for (uint32_t c = 0; c < column; c++) {
            out[c] = maximum_s8(in + c, k, k, row, column);
        }
        return;
    }
    const uint32_t last = column - 4;
    for (uint32_t c = 0; c < last; c += 4) {
        store_word(out + c, four_maxima(in + c, k, column, row));
    }
    store_word(out + last, four_maxima(in + last, k, column, row));
}

#elif KERNELS_THUMB1

#if defined(__ARM_ARCH_6M__) && !defined(KERNELS_THUMB1_IN_C)

/* The larger of r4 and `x`. */
#define LARGER(x, label) "cmp r4, " x "\n bge " label "f\n movs r4, " x "\n" label ":\n"

/* out[i]: the maximum of in[i] and of those `column`, `row` and both after it, for i in 0..n-1: 15.5 instructions.
   r0-r3 the four places, r6 the output, r7 counts i, r12 is n. */
__attribute__((naked)) static void maxima_of_four(const int8_t *in, uint32_t column, uint32_t row, uint32_t n,
                                                  int8_t *out) {
    __asm__(".syntax unified\n"
            "push {r4-r7, lr}\n"
            "ldr r6, [sp, #20]\n mov r12, r3\n adds r2, r0, r2\n adds r3, r2, r1\n"
            "adds r1, r0, r1\n movs r7, #0\n"
            "1:\n ldrsb r4, [r0, r7]\n"
            "ldrsb r5, [r1, r7]\n" LARGER("r5", "2")
            "ldrsb r5, [r2, r7]\n" LARGER("r5", "3")
            "ldrsb r5, [r3, r7]\n" LARGER("r5", "4")
            "strb r4, [r6, r7]\n"
            "adds r7, r7, #1\n"
            "cmp r7, r12\n bne 1b\n"
            "pop {r4-r7, pc}\n");
}

#else

static void maxima_of_four(const int8_t *in, uint32_t column, uint32_t row, uint32_t n, int8_t *out) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = maximum_s8(in + i, 2, 2, row, column);
    }
}

#endif

/* Not inlined: within the walk over windows its loops would have no registers left. */
__attribute__((noinline)) static void maxima(const int8_t *in, uint32_t k, uint32_t column, uint32_t row, int8_t *out) {
    for (uint32_t c = 0; c < column; c++) {
        out[c] = maximum_s8(in + c, k, k, row, column);
    }
}

static inline void pool_channels(const int8_t *in, uint32_t k, uint32_t column, uint32_t row, int8_t *out) {
    if (k == 2) {
        maxima_of_four(in, column, row, column, out);
    } else {
        maxima(in, k, column, row, out);
    }
}

#else

static inline void pool_channels(const int8_t *in, uint32_t k, uint32_t column, uint32_t row, int8_t *out) {
    for (uint32_t c = 0; c < column; c++) {
        out[c] = maximum_s8(in + c, k, k, row, column);
    }
}

#endif

static inline void pool(const int8_t *in, const layer_shape_t *shape, uint32_t k, int8_t *out) {
    const uint32_t column = shape->in_c;
    const uint32_t row = shape->in_w * column;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const int8_t *window = in + y * k * row;
        for (uint32_t x = 0; x < shape->out_w; x++, window += k * column, out += column) {
            pool_channels(window, k, column, row, out);
        }
    }
}

void max_pool_s8(const int8_t *in, const layer_shape_t *shape, int8_t *out) {
    if (shape->kernel_h == 2) {
        pool(in, shape, 2, out); /* unrolled by the compiler */
    } else {
        pool(in, shape, shape->kernel_h, out);
    }
}
