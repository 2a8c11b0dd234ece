#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include <stdbool.h>

#include "kernels/tflite_plane_s8.h"

/* One output. `kernel_w` is that of the window, a constant to the compiler where it is a common one. */
static inline int32_t window_sum(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                                 uint32_t kernel_w) {
    int32_t sum = 0;
    for (uint32_t ky = 0; ky < window->kernel_h; ky++) {
        for (uint32_t kx = 0; kx < kernel_w; kx++) {
            sum += plane[kx] * kernel[kx];
        }
        plane += window->width;
        kernel += kernel_w;
    }
    return sum;
}

typedef struct {
    int32_t s0, s1;
} two_t;

/* Two outputs side by side, for kernels of an odd width from 3 on: a value of the plane serves the first with one tap
   and the second with the tap before, and is used up by the second multiplication, as a tap is, so that nothing has to
   be copied. */
#if defined(__ARM_ARCH_6M__)

static inline two_t two_windows(const int8_t *plane, const int8_t *kernel, const plane_window_t *window) {
    const uint32_t width = window->width, kernel_w = window->kernel_w;
    const int32_t taps = 1 - (int32_t)kernel_w; /* but the last; the index of both rows counts up to 0 */
    const int8_t *x = plane + kernel_w, *w = kernel + kernel_w - 1, *const end = w + window->kernel_h * kernel_w;
    int32_t a, b, t, i, s0 = 0, s1 = 0;
    __asm__(
        ".syntax unified\n"
        "0:\n\t"
        "ldr %[i], %[taps]\n\t"
        "subs %[i], #1\n\t"
        "ldrsb %[a], [%[x], %[i]]\n\t"
        "adds %[i], #1\n"
        "1:\n\t"
        "ldrsb %[t], [%[w], %[i]]\n\t"
        "muls %[a], %[t]\n\t"
        "add %[s0], %[a]\n\t"
        "ldrsb %[b], [%[x], %[i]]\n\t"
        "muls %[t], %[b]\n\t"
        "add %[s1], %[t]\n\t"
        "adds %[i], #1\n\t"
        "ldrsb %[t], [%[w], %[i]]\n\t"
        "muls %[b], %[t]\n\t"
        "add %[s0], %[b]\n\t"
        "ldrsb %[a], [%[x], %[i]]\n\t"
        "muls %[t], %[a]\n\t"
        "add %[s1], %[t]\n\t"
        "adds %[i], #1\n\t"
        "bne 1b\n\t"
        "ldrsb %[t], [%[w], %[i]]\n\t"
        "muls %[a], %[t]\n\t"
        "add %[s0], %[a]\n\t"
        "ldrsb %[b], [%[x], %[i]]\n\t"
        "muls %[t], %[b]\n\t"
        "add %[s1], %[t]\n\t"
        "add %[x], %[width]\n\t"
        "add %[w], %[kernel_w]\n\t"
        "cmp %[w], %[end]\n\t"
        "bne 0b\n\t"
        : [s0] "+h"(s0), [s1] "+h"(s1), [x] "+l"(x), [w] "+l"(w), [i] "=&l"(i), [a] "=&l"(a), [b] "=&l"(b), [t] "=&l"(t)
        : [width] "h"(width), [kernel_w] "h"(kernel_w), [end] "h"(end), [taps] "m"(taps)
        : "cc", "memory");
    return (two_t){.s0 = s0, .s1 = s1};
}

#else

static inline two_t two_windows(const int8_t *plane, const int8_t *kernel, const plane_window_t *window) {
    return (two_t){.s0 = window_sum(plane, kernel, window, window->kernel_w),
                   .s1 = window_sum(plane + 1, kernel, window, window->kernel_w)};
}

#endif

/* One row of outputs, one by one. */
static inline void windows(const int8_t *plane, const int8_t *kernel, const plane_window_t *window, uint32_t kernel_w,
                           uint32_t n, int32_t *sums) {
    for (uint32_t j = 0; j < n; j++) {
        sums[j] = window_sum(plane, kernel, window, kernel_w);
        plane += window->stride;
    }
}

static void row_of_windows(const int8_t *plane, const int8_t *kernel, const plane_window_t *window, uint32_t n,
                           int32_t *sums) {
    if (window->kernel_w == 3) {
        windows(plane, kernel, window, 3, n, sums);
    } else if (window->kernel_w == 7) {
        windows(plane, kernel, window, 7, n, sums);
    } else {
        windows(plane, kernel, window, window->kernel_w, n, sums);
    }
}

void tflite_plane_sums_s8(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                          const plane_block_t *block, int32_t *sums) {
    const bool paired = window->stride == 1 && window->kernel_w % 2 != 0 && window->kernel_w > 1;
    const uint32_t columns = block->columns, in_pairs = paired ? columns / 2 * 2 : 0;
    plane += block->y * window->stride * window->width + block->x * window->stride;
    for (uint32_t i = 0; i < block->rows; i++) {
        for (uint32_t j = 0; j < in_pairs; j += 2) {
            const two_t two = two_windows(plane + j, kernel, window);
            sums[j] = two.s0;
            sums[j + 1] = two.s1;
        }
        row_of_windows(plane + in_pairs * window->stride, kernel, window, columns - in_pairs, sums + in_pairs);
        sums += columns;
        plane += window->stride * window->width;
    }
}

#endif
