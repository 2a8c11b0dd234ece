#include "kernels/convolution.h"

enum {
    SLACK = 64, /* room for a kernel to read beyond the last row */
    TERM = 8,   /* bytes of a term of conv2d_s8_m0.c */
};

static uint64_t greatest(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* One formula for all cores, so that the host plans for any of them. The portable kernel needs the padded input; the
   DSP variant needs the kernel's rows of it, or more, in int16 and the weights of two channels in int16; the variant
   for Armv6-M a term for every tap of a window and two more. */
uint64_t conv2d_s8_scratch(const layer_shape_t *shape) {
    const uint64_t height = greatest(shape->in_h + 2u * shape->padding_h, 2u * shape->kernel_h);
    const uint64_t width = shape->in_w + 2u * shape->padding_w;
    const uint64_t weights = 4ull * shape->kernel_h * (shape->kernel_w * shape->in_c + 1u);
    const uint64_t terms = TERM * ((uint64_t)shape->kernel_h * shape->kernel_w * shape->in_c + 2u);
    return greatest(height * width * shape->in_c + SLACK + weights, terms);
}
