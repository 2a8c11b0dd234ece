#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/dsp_multiply.h"
#include "kernels/tflite_plane_s8.h"

/* Each kind of kernel has its registers for itself. */
#define APART __attribute__((noinline)) static

/* Signed bytes in lanes: those of a word at distances 0 and 2, and at 1 and 3. */
typedef struct {
    uint32_t even, odd;
} lanes_t;

static inline lanes_t lanes_of(const int8_t *bytes) {
    hold_loads();
    const uint32_t word = load_word(bytes);
    return (lanes_t){.even = even_lanes(word), .odd = odd_lanes(word)};
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
static inline void row_of_neighbours(four_t *sum, const int8_t *plane, const int8_t *kernel, uint32_t kernel_w) {
    lanes_t x0 = lanes_of(plane);
    uint32_t kx = 0;
    for (; kx + 4 <= kernel_w; kx += 4) {
        const lanes_t w = lanes_of(kernel + kx), x2 = lanes_of(plane + kx + 2);
        sum->s0 = add_lanes(sum->s0, x0, w);
        sum->s1 = add_lanes(sum->s1, (lanes_t){.even = x0.odd, .odd = x2.even}, w);
        sum->s2 = add_lanes(sum->s2, x2, w);
        x0 = lanes_of(plane + kx + 4);
        sum->s3 = add_lanes(sum->s3, (lanes_t){.even = x2.odd, .odd = x0.even}, w);
    }
    if (kx + 3 == kernel_w) {
        const lanes_t w = lanes_of(kernel + kx),
                      x2 = lanes_of(plane + kx + 2); /* w.odd has one tap, in its lower lane */
        sum->s0 = add_low_product(add_products(sum->s0, x0.even, w.even), x0.odd, w.odd);
        sum->s1 = add_low_product(add_products(sum->s1, x0.odd, w.even), x2.even, w.odd);
        sum->s2 = add_low_product(add_products(sum->s2, x2.even, w.even), x2.odd, w.odd);
        sum->s3 = add_top_product(add_products(sum->s3, x2.odd, w.even), x2.even, w.odd);
    } else if (kx < kernel_w) {
        const uint32_t w = (uint32_t)kernel[kx];
        sum->s0 = add_low_product(sum->s0, x0.even, w);
        sum->s1 = add_low_product(sum->s1, x0.odd, w);
        sum->s2 = add_top_product(sum->s2, x0.even, w);
        sum->s3 = add_top_product(sum->s3, x0.odd, w);
        for (kx++; kx < kernel_w; kx++) { /* of two */
            const int32_t last = kernel[kx];
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
                                uint32_t outputs, int32_t *sums) {
    const uint32_t kernel_w = window->kernel_w, rest = (kernel_w - 1) % 4 + 1, mask = UINT32_MAX >> (32 - 8 * rest);
    const uint32_t next =
        window->width - (kernel_w - rest); /* from the last word of a row of the plane to the row below */
    int32_t sum[3] = {0, 0, 0};
    for (const int8_t *const end = kernel + window->kernel_h * kernel_w; kernel != end; plane += next, kernel += rest) {
        for (const int8_t *const last = kernel + (kernel_w - rest); kernel != last; plane += 4, kernel += 4) {
            add_four_taps(sum, plane, lanes_of(kernel), outputs);
        }
        const uint32_t word = load_word(kernel) & mask;
        add_four_taps(sum, plane, (lanes_t){.even = even_lanes(word), .odd = odd_lanes(word)}, outputs);
    }
    for (uint32_t i = 0; i < outputs; i++) {
        sums[i] = sum[i];
    }
}

APART void last_output(const int8_t *plane, const int8_t *kernel, const plane_window_t *window, int32_t *sums) {
    last_outputs(plane, kernel, window, 1, sums);
}

APART void last_two_outputs(const int8_t *plane, const int8_t *kernel, const plane_window_t *window, int32_t *sums) {
    last_outputs(plane, kernel, window, 2, sums);
}

APART void last_three_outputs(const int8_t *plane, const int8_t *kernel, const plane_window_t *window, int32_t *sums) {
    last_outputs(plane, kernel, window, 3, sums);
}

/* Three taps: of the odd lanes only the lower ones count. */
static inline int32_t add_three(int32_t sum, lanes_t x, lanes_t w) {
    return add_low_product(add_products(sum, x.even, w.even), x.odd, w.odd);
}

/* Four outputs whose windows are `stride` bytes apart. */
static inline void row_of_strided(four_t *sum, const int8_t *plane, const int8_t *kernel, uint32_t kernel_w,
                                  uint32_t stride) {
    uint32_t kx = 0;
    for (; kx + 4 <= kernel_w; kx += 4) {
        const lanes_t w = lanes_of(kernel + kx);
        sum->s0 = add_lanes(sum->s0, lanes_of(plane + kx), w);
        sum->s1 = add_lanes(sum->s1, lanes_of(plane + kx + stride), w);
        sum->s2 = add_lanes(sum->s2, lanes_of(plane + kx + 2 * stride), w);
        sum->s3 = add_lanes(sum->s3, lanes_of(plane + kx + 3 * stride), w);
    }
    if (kx + 3 == kernel_w) {
        const lanes_t w = lanes_of(kernel + kx);
        sum->s0 = add_three(sum->s0, lanes_of(plane + kx), w);
        sum->s1 = add_three(sum->s1, lanes_of(plane + kx + stride), w);
        sum->s2 = add_three(sum->s2, lanes_of(plane + kx + 2 * stride), w);
        sum->s3 = add_three(sum->s3, lanes_of(plane + kx + 3 * stride), w);
        return;
    }
    for (; kx < kernel_w; kx++) {
        const int32_t w = kernel[kx];
        sum->s0 += plane[kx] * w;
        sum->s1 += plane[kx + stride] * w;
        sum->s2 += plane[kx + 2 * stride] * w;
        sum->s3 += plane[kx + 3 * stride] * w;
    }
}

static inline int32_t row_of_one(int32_t sum, const int8_t *plane, const int8_t *kernel, uint32_t kernel_w) {
    uint32_t kx = 0;
    for (; kx + 4 <= kernel_w; kx += 4) {
        sum = add_lanes(sum, lanes_of(plane + kx), lanes_of(kernel + kx));
    }
    for (; kx < kernel_w; kx++) {
        sum += plane[kx] * kernel[kx];
    }
    return sum;
}

/* `kernel_h`, `kernel_w` and `stride` are those of the window; where they are constants, the compiler unrolls. */
static inline void all_outputs(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                               const plane_block_t *block, uint32_t kernel_h, uint32_t kernel_w, uint32_t stride,
                               int32_t *sums) {
    const uint32_t width = window->width;
    plane += block->y * stride * width + block->x * stride;
    for (uint32_t i = 0; i < block->rows; i++) {
        const int8_t *row = plane;
        const int32_t *const fours = sums + block->columns / 4 * 4, *const end = sums + block->columns;
        for (; sums != fours; sums += 4, row += 4 * stride) {
            four_t sum = {0, 0, 0, 0};
            const int8_t *x = row, *w = kernel;
            for (uint32_t ky = 0; ky < kernel_h; ky++, x += width, w += kernel_w) {
                if (stride == 1) {
                    row_of_neighbours(&sum, x, w, kernel_w);
                } else {
                    row_of_strided(&sum, x, w, kernel_w, stride);
                }
            }
            sums[0] = sum.s0;
            sums[1] = sum.s1;
            sums[2] = sum.s2;
            sums[3] = sum.s3;
        }
        for (; sums != end; sums++, row += stride) {
            const int8_t *x = row, *w = kernel;
            int32_t sum = 0;
            for (uint32_t ky = 0; ky < kernel_h; ky++, x += width, w += kernel_w) {
                sum = row_of_one(sum, x, w, kernel_w);
            }
            *sums = sum;
        }
        plane += stride * width;
    }
}

APART void three_by_three(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                          const plane_block_t *block, int32_t *sums) {
    all_outputs(plane, kernel, window, block, 3, 3, 1, sums);
}

APART void five_by_five(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                        const plane_block_t *block, int32_t *sums) {
    all_outputs(plane, kernel, window, block, 5, 5, 1, sums);
}

APART void seven_by_seven(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                          const plane_block_t *block, int32_t *sums) {
    all_outputs(plane, kernel, window, block, 7, 7, 1, sums);
}

APART void four_neighbours(const int8_t *plane, const int8_t *kernel, const plane_window_t *window, int32_t *sums) {
    four_t sum = {0, 0, 0, 0};
    for (uint32_t ky = 0; ky < window->kernel_h; ky++, plane += window->width, kernel += window->kernel_w) {
        row_of_neighbours(&sum, plane, kernel, window->kernel_w);
    }
    sums[0] = sum.s0;
    sums[1] = sum.s1;
    sums[2] = sum.s2;
    sums[3] = sum.s3;
}

static void any_neighbours(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                           const plane_block_t *block, int32_t *sums) {
    plane += block->y * window->width + block->x;
    for (uint32_t i = 0; i < block->rows; i++, plane += window->width) {
        const int8_t *row = plane;
        const int32_t *const fours = sums + block->columns / 4 * 4;
        for (; sums != fours; sums += 4, row += 4) {
            four_neighbours(row, kernel, window, sums);
        }
        const uint32_t rest = block->columns % 4;
        if (rest == 1) {
            last_output(row, kernel, window, sums);
        } else if (rest == 2) {
            last_two_outputs(row, kernel, window, sums);
        } else if (rest == 3) {
            last_three_outputs(row, kernel, window, sums);
        }
        sums += rest;
    }
}

APART void three_by_two(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                        const plane_block_t *block, int32_t *sums) {
    all_outputs(plane, kernel, window, block, 3, 3, 2, sums);
}

APART void any_strided(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                       const plane_block_t *block, int32_t *sums) {
    all_outputs(plane, kernel, window, block, window->kernel_h, window->kernel_w, window->stride, sums);
}

void tflite_plane_sums_s8(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                          const plane_block_t *block, int32_t *sums) {
    const uint32_t k = window->kernel_h == window->kernel_w ? window->kernel_w : 0;
    if (window->stride == 2 && k == 3) {
        three_by_two(plane, kernel, window, block, sums);
    } else if (window->stride > 1) {
        any_strided(plane, kernel, window, block, sums);
    } else if (block->columns < 4) {
        any_neighbours(plane, kernel, window, block, sums);
    } else if (k == 3) {
        three_by_three(plane, kernel, window, block, sums);
    } else if (k == 5) {
        five_by_five(plane, kernel, window, block, sums);
    } else if (k == 7) {
        seven_by_seven(plane, kernel, window, block, sums);
    } else {
        any_neighbours(plane, kernel, window, block, sums);
    }
}

#endif
