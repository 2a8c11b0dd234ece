/* A kernel moved over a padded plane with DSP instructions: docs/arithmetic-tflite.md, section 3. */
#include "kernels/tflite_plane_s8.h"

#include <stdbool.h>

#include "kernels/dsp.h"

#if KERNELS_DSP

/* Each kind of kernel has its registers for itself. */
/* Signed bytes in lanes: those of a word at distances 0 and 2, and at 1 and 3. */
typedef struct {
    uint32_t even, odd;
} lanes_t;

static inline lanes_t lanes_of(const int8_t *bytes) {
    hold_loads();
    const uint32_t word = load_word(bytes);
    return (lanes_t){.even = even_lanes(word), .odd = odd_lanes(word)};
}

/* A kernel of which something is taken away. */
typedef struct {
    bool any;      /* a constant to the compiler */
    uint32_t less; /* the negative zero point in both lanes */
} zero_t;

static inline lanes_t kernel_lanes_of(uint32_t word, zero_t zero) {
    if (zero.any) {
        return (lanes_t){.even = add_even_lanes(zero.less, word), .odd = add_odd_lanes(zero.less, word)};
    }
    return (lanes_t){.even = even_lanes(word), .odd = odd_lanes(word)};
}

static inline lanes_t kernel_lanes(const int8_t *bytes, zero_t zero) {
    hold_loads();
    return kernel_lanes_of(load_word(bytes), zero);
}

/* One tap, in the lower lane. */
static inline uint32_t tap_of(const int8_t *kernel, zero_t zero) {
    return zero.any ? (uint32_t)*kernel + zero.less : (uint32_t)*kernel;
}

static inline int32_t add_lanes(int32_t sum, lanes_t x, lanes_t w) {
    return add_products(add_products(sum, x.even, w.even), x.odd, w.odd);
}

/* Four outputs. */
typedef struct {
    int32_t s0, s1, s2, s3;
} four_t;

/* Four outputs whose windows are one byte apart. The lanes of a word serve two of them: what is even in the first
   window is odd in the second. A word is loaded for every two bytes, so that one of its lanes goes beyond the word
   before. */
static inline void row_of_neighbours(four_t *sum, const int8_t *plane, const int8_t *kernel, uint32_t kernel_w,
                                     zero_t zero) {
    lanes_t x0 = lanes_of(plane);
    uint32_t kx = 0;
    for (; kx + 4 <= kernel_w; kx += 4) {
        const lanes_t w = kernel_lanes(kernel + kx, zero), x2 = lanes_of(plane + kx + 2);
        sum->s0 = add_lanes(sum->s0, x0, w);
        sum->s1 = add_lanes(sum->s1, (lanes_t){.even = x0.odd, .odd = x2.even}, w);
        sum->s2 = add_lanes(sum->s2, x2, w);
        x0 = lanes_of(plane + kx + 4);
        sum->s3 = add_lanes(sum->s3, (lanes_t){.even = x2.odd, .odd = x0.even}, w);
    }
    if (kx + 3 == kernel_w) {
        const lanes_t w = kernel_lanes(kernel + kx, zero),
                      x2 = lanes_of(plane + kx + 2); /* w.odd has one tap, in its lower lane */
        sum->s0 = add_low_product(add_products(sum->s0, x0.even, w.even), x0.odd, w.odd);
        sum->s1 = add_low_product(add_products(sum->s1, x0.odd, w.even), x2.even, w.odd);
        sum->s2 = add_low_product(add_products(sum->s2, x2.even, w.even), x2.odd, w.odd);
        sum->s3 = add_top_product(add_products(sum->s3, x2.odd, w.even), x2.even, w.odd);
    } else if (kx < kernel_w) {
        const uint32_t w = tap_of(kernel + kx, zero);
        sum->s0 = add_low_product(sum->s0, x0.even, w);
        sum->s1 = add_low_product(sum->s1, x0.odd, w);
        sum->s2 = add_top_product(sum->s2, x0.even, w);
        sum->s3 = add_top_product(sum->s3, x0.odd, w);
        for (kx++; kx < kernel_w; kx++) { /* of two */
            const int32_t last = (int16_t)(tap_of(kernel + kx, zero) & 0xFFFFu);
            sum->s0 += plane[kx] * last;
            sum->s1 += plane[kx + 1] * last;
            sum->s2 += plane[kx + 2] * last;
            sum->s3 += plane[kx + 3] * last;
        }
    }
}

/* Four taps of up to three outputs whose windows are one byte apart. */
static inline void add_four_taps(int32_t sum[3], const int8_t *plane, lanes_t w, uint32_t outputs) {
    const lanes_t x0 = lanes_of(plane);
    sum[0] = add_lanes(sum[0], x0, w);
    if (outputs > 1) {
        const lanes_t x2 = lanes_of(plane + 2);
        sum[1] = add_lanes(sum[1], (lanes_t){.even = x0.odd, .odd = x2.even}, w);
        if (outputs > 2) {
            sum[2] = add_lanes(sum[2], x2, w);
        }
    }
}

/* What fours leave of a row of outputs, or all of it: a weight gradient has as many columns as the kernel is wide, and
   the plane of the errors for a kernel. Of the last word of a row of the kernel only some bytes count: `mask`. */
static inline void last_outputs(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                                uint32_t outputs, zero_t zero, int32_t *sums) {
    const uint32_t kernel_w = window->kernel_w, rest = (kernel_w - 1) % 4 + 1, mask = UINT32_MAX >> (32 - 8 * rest);
    const uint32_t next =
        window->width - (kernel_w - rest); /* from the last word of a row of the plane to the row below */
    const uint32_t none = four_times(window->zero) & ~mask;
    int32_t sum[3] = {0, 0, 0};
    for (const int8_t *const end = kernel + window->kernel_h * kernel_w; kernel != end; plane += next, kernel += rest) {
        for (const int8_t *const last = kernel + (kernel_w - rest); kernel != last; plane += 4, kernel += 4) {
            add_four_taps(sum, plane, kernel_lanes(kernel, zero), outputs);
        }
        const uint32_t word = load_word(kernel) & mask;
        add_four_taps(sum, plane, kernel_lanes_of(zero.any ? word | none : word, zero), outputs);
    }
    for (uint32_t i = 0; i < outputs; i++) {
        sums[i] = sum[i];
    }
}

/* Three taps: of the odd lanes only the lower ones count. */
static inline int32_t add_three(int32_t sum, lanes_t x, lanes_t w) {
    return add_low_product(add_products(sum, x.even, w.even), x.odd, w.odd);
}

/* Four outputs whose windows are `stride` bytes apart. */
static inline void row_of_strided(four_t *sum, const int8_t *plane, const int8_t *kernel, uint32_t kernel_w,
                                  uint32_t stride, zero_t zero) {
    uint32_t kx = 0;
    for (; kx + 4 <= kernel_w; kx += 4) {
        const lanes_t w = kernel_lanes(kernel + kx, zero);
        sum->s0 = add_lanes(sum->s0, lanes_of(plane + kx), w);
        sum->s1 = add_lanes(sum->s1, lanes_of(plane + kx + stride), w);
        sum->s2 = add_lanes(sum->s2, lanes_of(plane + kx + 2 * stride), w);
        sum->s3 = add_lanes(sum->s3, lanes_of(plane + kx + 3 * stride), w);
    }
    if (kx + 3 == kernel_w) {
        const lanes_t w = kernel_lanes(kernel + kx, zero);
        sum->s0 = add_three(sum->s0, lanes_of(plane + kx), w);
        sum->s1 = add_three(sum->s1, lanes_of(plane + kx + stride), w);
        sum->s2 = add_three(sum->s2, lanes_of(plane + kx + 2 * stride), w);
        sum->s3 = add_three(sum->s3, lanes_of(plane + kx + 3 * stride), w);
        return;
    }
    for (; kx < kernel_w; kx++) {
        const int32_t w = (int16_t)(tap_of(kernel + kx, zero) & 0xFFFFu);
        sum->s0 += plane[kx] * w;
        sum->s1 += plane[kx + stride] * w;
        sum->s2 += plane[kx + 2 * stride] * w;
        sum->s3 += plane[kx + 3 * stride] * w;
    }
}

static inline int32_t row_of_one(int32_t sum, const int8_t *plane, const int8_t *kernel, uint32_t kernel_w,
                                 zero_t zero) {
    uint32_t kx = 0;
    for (; kx + 4 <= kernel_w; kx += 4) {
        sum = add_lanes(sum, lanes_of(plane + kx), kernel_lanes(kernel + kx, zero));
    }
    for (; kx < kernel_w; kx++) {
        sum += plane[kx] * (int16_t)(tap_of(kernel + kx, zero) & 0xFFFFu);
    }
    return sum;
}

/* The kernel and the strides are those of the window; where they are constants, the compiler unrolls. Columns are
   neighbours only where `stride_w` is a constant 1. */
static inline void all_outputs(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                               const plane_block_t *block, uint32_t kernel_h, uint32_t kernel_w, uint32_t stride_h,
                               uint32_t stride_w, zero_t zero, int32_t *sums) {
    const uint32_t width = window->width;
    plane += block->y * stride_h * width + block->x * stride_w;
    for (uint32_t i = 0; i < block->rows; i++) {
        const int8_t *row = plane;
        const int32_t *const fours = sums + block->columns / 4 * 4, *const end = sums + block->columns;
        for (; sums != fours; sums += 4, row += 4 * stride_w) {
            four_t sum = {0, 0, 0, 0};
            const int8_t *x = row, *w = kernel;
            for (uint32_t ky = 0; ky < kernel_h; ky++, x += width, w += kernel_w) {
                if (__builtin_constant_p(stride_w) && stride_w == 1) {
                    row_of_neighbours(&sum, x, w, kernel_w, zero);
                } else {
                    row_of_strided(&sum, x, w, kernel_w, stride_w, zero);
                }
            }
            sums[0] = sum.s0;
            sums[1] = sum.s1;
            sums[2] = sum.s2;
            sums[3] = sum.s3;
        }
        for (; sums != end; sums++, row += stride_w) {
            const int8_t *x = row, *w = kernel;
            int32_t sum = 0;
            for (uint32_t ky = 0; ky < kernel_h; ky++, x += width, w += kernel_w) {
                sum = row_of_one(sum, x, w, kernel_w, zero);
            }
            *sums = sum;
        }
        plane += stride_h * width;
    }
}

static inline void four_neighbours(const int8_t *plane, const int8_t *kernel, const plane_window_t *window, zero_t zero,
                                   int32_t *sums) {
    four_t sum = {0, 0, 0, 0};
    for (uint32_t ky = 0; ky < window->kernel_h; ky++, plane += window->width, kernel += window->kernel_w) {
        row_of_neighbours(&sum, plane, kernel, window->kernel_w, zero);
    }
    sums[0] = sum.s0;
    sums[1] = sum.s1;
    sums[2] = sum.s2;
    sums[3] = sum.s3;
}

/* All functions for a kernel with a zero point and for one without: some outputs, or all of a block. */
#define ZERO(has) ((zero_t){.any = has, .less = low_lanes((uint32_t)-window->zero, (uint32_t)-window->zero)})
#define OUTPUTS(name, call)                                                                                            \
    SEPARATE static void name(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,                 \
                              int32_t *sums) {                                                                         \
        call;                                                                                                          \
    }
#define BLOCK(name, has, kernel_h, kernel_w, stride_h, stride_w)                                                       \
    SEPARATE static void name(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,                 \
                              const plane_block_t *block, int32_t *sums) {                                             \
        all_outputs(plane, kernel, window, block, kernel_h, kernel_w, stride_h, stride_w, ZERO(has), sums);            \
    }
#define FUNCTIONS(kind, has)                                                                                           \
    OUTPUTS(kind##_one, last_outputs(plane, kernel, window, 1, ZERO(has), sums))                                       \
    OUTPUTS(kind##_two, last_outputs(plane, kernel, window, 2, ZERO(has), sums))                                       \
    OUTPUTS(kind##_three, last_outputs(plane, kernel, window, 3, ZERO(has), sums))                                     \
    OUTPUTS(kind##_four, four_neighbours(plane, kernel, window, ZERO(has), sums))                                      \
    BLOCK(kind##_three_by_three, has, 3, 3, 1, 1)                                                                      \
    BLOCK(kind##_five_by_five, has, 5, 5, 1, 1)                                                                        \
    BLOCK(kind##_seven_by_seven, has, 7, 7, 1, 1)                                                                      \
    BLOCK(kind##_three_by_two, has, 3, 3, 2, 2)                                                                        \
    BLOCK(kind##_any_strided, has, window->kernel_h, window->kernel_w, window->stride_h, window->stride_w)

FUNCTIONS(plain, false)
FUNCTIONS(shifted, true)

#define CALL(name, ...)                                                                                                \
    (zero ? shifted_##name(plane, kernel, window, __VA_ARGS__) : plain_##name(plane, kernel, window, __VA_ARGS__))

/* The last one to three outputs of a row. */
static void last_neighbours(const int8_t *plane, const int8_t *kernel, const plane_window_t *window, uint32_t n,
                            bool zero, int32_t *sums) {
    if (n == 1) {
        CALL(one, sums);
    } else if (n == 2) {
        CALL(two, sums);
    } else if (n == 3) {
        CALL(three, sums);
    }
}

static void any_neighbours(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                           const plane_block_t *block, bool zero, int32_t *sums) {
    plane += block->y * window->width + block->x;
    const uint32_t rest = block->columns % 4;
    for (uint32_t i = 0; i < block->rows; i++, plane += window->width - (block->columns - rest), sums += rest) {
        for (const int32_t *const fours = sums + (block->columns - rest); sums != fours; sums += 4, plane += 4) {
            CALL(four, sums);
        }
        last_neighbours(plane, kernel, window, rest, zero, sums);
    }
}

void tflite_plane_sums_s8(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                          const plane_block_t *block, int32_t *sums) {
    const bool zero = window->zero != 0;
    const uint32_t k = window->kernel_h == window->kernel_w ? window->kernel_w : 0;
    const uint32_t strides = window->stride_h * window->stride_w;
    if (strides == 4 && window->stride_w == 2 && k == 3) {
        CALL(three_by_two, block, sums);
    } else if (strides > 1) {
        CALL(any_strided, block, sums);
    } else if (block->columns < 4) {
        any_neighbours(plane, kernel, window, block, zero, sums);
    } else if (k == 3) {
        CALL(three_by_three, block, sums);
    } else if (k == 5) {
        CALL(five_by_five, block, sums);
    } else if (k == 7) {
        CALL(seven_by_seven, block, sums);
    } else {
        any_neighbours(plane, kernel, window, block, zero, sums);
    }
}

#endif
