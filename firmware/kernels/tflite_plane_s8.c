/* One channel as a padded plane, and a kernel moved over it: docs/arithmetic-tflite.md, section 3. */
#include "kernels/tflite_plane_s8.h"

#include <stdbool.h>
#include <string.h>

#include "kernels/core.h"

plane_axis_t tflite_plane_axis(int32_t start, uint32_t step, uint32_t length, uint32_t size) {
    plane_axis_t axis = {.start = start, .step = step, .length = length, .size = size};
    uint32_t end = 0; /* elements before the far edge of the image */
    if (start < (int32_t)size) {
        end = (uint32_t)((int32_t)size - start - 1) / step + 1;
    }
    end = end < length ? end : length;
    axis.first = start < 0 ? ((uint32_t)-start + step - 1) / step : 0;
    axis.inside = end > axis.first ? end - axis.first : 0;
    return axis;
}

void tflite_plane_fill(const plane_axis_t *vertical, const plane_axis_t *horizontal, int8_t value, int8_t *plane) {
    memset(plane, value, vertical->length * horizontal->length + TFLITE_SLACK);
}

static inline uint32_t position_of_first(const plane_axis_t *axis) {
    return (uint32_t)(axis->start + (int32_t)(axis->first * axis->step));
}

void tflite_plane_take(const int8_t *in, uint32_t channels, const plane_axis_t *vertical,
                       const plane_axis_t *horizontal, int8_t *plane) {
    if (vertical->inside == 0 || horizontal->inside == 0) {
        return;
    }
    const uint32_t width = horizontal->size * channels, column = horizontal->step * channels;
    in += position_of_first(vertical) * width + position_of_first(horizontal) * channels;
    plane += vertical->first * horizontal->length + horizontal->first;
    for (uint32_t i = 0; i < vertical->inside; i++) {
        const int8_t *from = in;
        uint32_t j = 0;
        for (; j + 4 <= horizontal->inside; j += 4) {
            plane[j] = from[0];
            plane[j + 1] = from[column];
            plane[j + 2] = from[2 * column];
            plane[j + 3] = from[3 * column];
            from += 4 * column;
        }
        for (; j < horizontal->inside; j++) {
            plane[j] = *from;
            from += column;
        }
        in += vertical->step * width;
        plane += horizontal->length;
    }
}

plane_block_t tflite_first_block(uint32_t height, uint32_t width) {
    plane_block_t block = {.rows = 1, .columns = least_u32(width, TFLITE_PLANE_SUMS)};
    if (block.columns == width) {
        block.rows = least_u32(TFLITE_PLANE_SUMS / width, height);
    }
    return block;
}

plane_block_t tflite_next_block(const plane_block_t *block, uint32_t height, uint32_t width) {
    plane_block_t next = *block;
    next.x += block->columns;
    if (next.x >= width) {
        next.x = 0;
        next.y += block->rows;
        next.rows = least_u32(block->rows, height - next.y);
    }
    next.columns = least_u32(TFLITE_PLANE_SUMS, width - next.x);
    return next;
}

#if !KERNELS_DSP /* else tflite_plane_s8_dsp.c */

/* One output. `kernel_w` and `zero` are those of the window, or the same as constants to the compiler. */
static inline int32_t window_sum(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                                 uint32_t kernel_w, int32_t zero) {
    int32_t sum = 0;
    for (uint32_t ky = 0; ky < window->kernel_h; ky++) {
        for (uint32_t kx = 0; kx < kernel_w; kx++) {
            sum += plane[kx] * (kernel[kx] - zero);
        }
        plane += window->width;
        kernel += kernel_w;
    }
    return sum;
}

#endif

#if KERNELS_THUMB1

typedef struct {
    int32_t s0, s1;
} two_t;

/* Two outputs side by side, for kernels at least two wide: a value of the plane serves the first with one tap and the
   second with the tap before, and is used up by the second multiplication, as a tap is, so that nothing has to be
   copied. Two taps are unrolled; a kernel of an odd width ends with one. */
#if defined(__ARM_ARCH_6M__)

/* Both with a tap, where the value `used` is of the first and `next` of the second. `less` takes the zero point, of the
   operands, from the tap. */
#define TAP(used, next, less)                                                                                          \
    "ldrsb %[t], [%[w], %[i]]\n\t" less "muls %[" used "], %[t]\n\tadd %[s0], %[" used "]\n\tldrsb %[" next            \
    "], [%[x], %[i]]\n\tmuls %[t], %[" next "]\n\tadd %[s1], %[t]\n\t"

/* `last` is what a row ends with, of `odd` taps. */
#define TWO_WINDOWS(odd, last, less, ...)                                                                                \
    const uint32_t width = window->width, kernel_w = window->kernel_w;                                                   \
    const int32_t taps = odd - (int32_t)kernel_w; /* but the last; the index of both rows counts up to 0 */              \
    const int8_t *x = plane + kernel_w + 1 - odd,                                                                        \
                 *w = kernel + kernel_w - odd, *const end = w + window->kernel_h * kernel_w;                             \
    int32_t a, b, t, i, s0 = 0, s1 = 0;                                                                                  \
    __asm__(                                                                                                           \
        ".syntax unified\n"                                                                                            \
        "0:\n\tldr %[i], %[taps]\n\tsubs %[i], #1\n\t"                                                                 \
        "ldrsb %[a], [%[x], %[i]]\n\t"                                                                                 \
        "adds %[i], #1\n"                                                                                              \
        "1:\n\t" TAP("a", "b", less) "adds %[i], #1\n\t" TAP("b", "a", less) "adds %[i], #1\n\t"                       \
        "bne 1b\n\t" last                                                                                              \
        "add %[x], %[width]\n\tadd %[w], %[kernel_w]\n\t"                                                              \
        "cmp %[w], %[end]\n\tbne 0b\n\t"                                                                               \
        :                                                                                                              \
        [s0] "+h"(s0), [s1] "+h"(s1), [x] "+l"(x), [w] "+l"(w), [i] "=&l"(i), [a] "=&l"(a), [b] "=&l"(b), [t] "=&l"(t) \
        : [kernel_w] "h"(kernel_w), [end] "h"(end), [taps] "m"(taps), __VA_ARGS__                                      \
        : "cc", "memory"); \
    return (two_t) {                                                                                                     \
        .s0 = s0, .s1 = s1                                                                                               \
    }

#define LESS "add %[t], %[negative]\n\t"
#define PLAIN(odd, last) TWO_WINDOWS(odd, last, "", [width] "h"(width))
#define SHIFTED(odd, last) TWO_WINDOWS(odd, last, LESS, [width] "l"(width), [negative] "h"(-(int32_t)window->zero))

static inline two_t odd_plain(const int8_t *plane, const int8_t *kernel, const plane_window_t *window) {
    PLAIN(1, TAP("a", "b", ""));
}

static inline two_t even_plain(const int8_t *plane, const int8_t *kernel, const plane_window_t *window) {
    PLAIN(0, "");
}

static inline two_t odd_shifted(const int8_t *plane, const int8_t *kernel, const plane_window_t *window) {
    SHIFTED(1, TAP("a", "b", LESS));
}

static inline two_t even_shifted(const int8_t *plane, const int8_t *kernel, const plane_window_t *window) {
    SHIFTED(0, "");
}

#else

static inline two_t even_shifted(const int8_t *plane, const int8_t *kernel, const plane_window_t *window) {
    return (two_t){.s0 = window_sum(plane, kernel, window, window->kernel_w, window->zero),
                   .s1 = window_sum(plane + 1, kernel, window, window->kernel_w, window->zero)};
}

static inline two_t odd_shifted(const int8_t *plane, const int8_t *kernel, const plane_window_t *window) {
    return even_shifted(plane, kernel, window);
}

static inline two_t even_plain(const int8_t *plane, const int8_t *kernel, const plane_window_t *window) {
    return even_shifted(plane, kernel, window);
}

static inline two_t odd_plain(const int8_t *plane, const int8_t *kernel, const plane_window_t *window) {
    return even_shifted(plane, kernel, window);
}

#endif

/* `odd` and `plain` are constants to the compiler. */
static inline two_t two_windows(const int8_t *plane, const int8_t *kernel, const plane_window_t *window, bool odd,
                                bool plain) {
    if (plain) {
        return odd ? odd_plain(plane, kernel, window) : even_plain(plane, kernel, window);
    }
    return odd ? odd_shifted(plane, kernel, window) : even_shifted(plane, kernel, window);
}

/* A block in pairs. An odd last column is computed once more together with the one before, or with what lies after. */
static inline void pairs(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                         const plane_block_t *block, bool odd, bool plain, int32_t *sums) {
    const uint32_t columns = block->columns;
    for (uint32_t i = 0; i < block->rows; i++, sums += columns, plane += window->width) {
        for (uint32_t j = 0; j + 1 < columns; j += 2) {
            const two_t two = two_windows(plane + j, kernel, window, odd, plain);
            sums[j] = two.s0;
            sums[j + 1] = two.s1;
        }
        if (columns == 1) {
            sums[0] = two_windows(plane, kernel, window, odd, plain).s0;
        } else if (columns % 2 != 0) {
            sums[columns - 1] = two_windows(plane + columns - 2, kernel, window, odd, plain).s1;
        }
    }
}

/* A block one by one. */
static inline void windows(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                           const plane_block_t *block, uint32_t kernel_w, int32_t zero, int32_t *sums) {
    for (uint32_t i = 0; i < block->rows; i++, plane += window->stride_h * window->width) {
        const int8_t *row = plane;
        for (uint32_t j = 0; j < block->columns; j++, row += window->stride_w) {
            *sums++ = window_sum(row, kernel, window, kernel_w, zero);
        }
    }
}

/* Each kind of kernel has its registers for itself. */
typedef void block_t(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                     const plane_block_t *block, int32_t *sums);
#define BLOCK(name, call)                                                                                              \
    SEPARATE static void name(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,                 \
                              const plane_block_t *block, int32_t *sums) {                                             \
        call;                                                                                                          \
    }

BLOCK(odd_plain_block, pairs(plane, kernel, window, block, true, true, sums))
BLOCK(even_plain_block, pairs(plane, kernel, window, block, false, true, sums))
BLOCK(odd_shifted_block, pairs(plane, kernel, window, block, true, false, sums))
BLOCK(even_shifted_block, pairs(plane, kernel, window, block, false, false, sums))
BLOCK(plain_threes, windows(plane, kernel, window, block, 3, 0, sums))
BLOCK(plain_any, windows(plane, kernel, window, block, window->kernel_w, 0, sums))
BLOCK(shifted_any, windows(plane, kernel, window, block, window->kernel_w, window->zero, sums))

void tflite_plane_sums_s8(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                          const plane_block_t *block, int32_t *sums) {
    const bool odd = window->kernel_w % 2 != 0, plain = window->zero == 0;
    block_t *run = plain ? (window->kernel_w == 3 ? plain_threes : plain_any) : shifted_any;
    if (window->stride_h == 1 && window->stride_w == 1 && window->kernel_w > 1) {
        run = plain ? (odd ? odd_plain_block : even_plain_block) : (odd ? odd_shifted_block : even_shifted_block);
    }
    run(plane + block->y * window->stride_h * window->width + block->x * window->stride_w, kernel, window, block, sums);
}

#elif !KERNELS_DSP /* else tflite_plane_s8_dsp.c */

static inline void all_windows(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                               const plane_block_t *block, uint32_t kernel_w, int32_t *sums) {
    for (uint32_t i = 0; i < block->rows; i++) {
        const int8_t *row = plane + (block->y + i) * window->stride_h * window->width + block->x * window->stride_w;
        for (uint32_t j = 0; j < block->columns; j++) {
            *sums++ = window_sum(row, kernel, window, kernel_w, window->zero);
            row += window->stride_w;
        }
    }
}

void tflite_plane_sums_s8(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                          const plane_block_t *block, int32_t *sums) {
    if (window->kernel_w == 3) {
        all_windows(plane, kernel, window, block, 3, sums);
    } else if (window->kernel_w == 5) {
        all_windows(plane, kernel, window, block, 5, sums);
    } else if (window->kernel_w == 7) {
        all_windows(plane, kernel, window, block, 7, sums);
    } else {
        all_windows(plane, kernel, window, block, window->kernel_w, sums);
    }
}

#endif
