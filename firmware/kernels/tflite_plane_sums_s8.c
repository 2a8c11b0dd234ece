#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else tflite_plane_sums_s8_dsp.c or tflite_plane_sums_s8_m0.c */

#include "kernels/tflite_plane_s8.h"

/* One output. The width of the kernel is a constant to the compiler where it is a common one. */
static inline int32_t window_sum(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                                 uint32_t kernel_w) {
    const int32_t zero = window->zero;
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

static inline void all_windows(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                               const plane_block_t *block, uint32_t kernel_w, int32_t *sums) {
    for (uint32_t i = 0; i < block->rows; i++) {
        const int8_t *row = plane + (block->y + i) * window->stride_h * window->width + block->x * window->stride_w;
        for (uint32_t j = 0; j < block->columns; j++) {
            *sums++ = window_sum(row, kernel, window, kernel_w);
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
