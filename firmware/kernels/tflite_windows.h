/* Index arithmetic of strided windows, private to the kernels of the format tflite8. */
#pragma once

#include <stdint.h>

/* One axis of a window (docs/arithmetic-tflite.md, section 2): the first `before` taps lie in the padding, the next
   `inside` taps in the image at its positions from `at` on, the others in the padding beyond it. */
typedef struct {
    uint32_t before, inside, at;
} span_t;

/* The window of an output position, over an image of `size` positions of which it has at least one. */
static inline span_t span_of(uint32_t position, uint32_t stride, uint32_t padding, uint32_t kernel, uint32_t size) {
    const uint32_t start = position * stride; /* in the padded image */
    const uint32_t before = start < padding ? padding - start : 0;
    const uint32_t room = size + padding - start; /* from the first tap to the far edge */
    return (span_t){
        .before = before, .inside = (kernel < room ? kernel : room) - before, .at = start + before - padding};
}

/* A phase of a strided axis: the taps of the kernel that are `stride` apart, from tap `first` on. Only they meet the
   input positions whose distance from the start of the padding has the same remainder. One phase at a time, both
   backward passes of a strided convolution have stride 1. */
typedef struct {
    uint32_t first, taps;
    uint32_t input, inputs; /* the first of the phase's input positions, and how many there are */
    uint32_t output;        /* the output position in which tap `first` lies on `input`; may be after the last */
} phase_t;

static inline phase_t phase_of(uint32_t first, uint32_t kernel, uint32_t stride, uint32_t padding, uint32_t size) {
    phase_t phase = {.first = first, .taps = first < kernel ? (kernel - first - 1) / stride + 1 : 0};
    phase.output = first < padding ? (padding - first + stride - 1) / stride : 0;
    phase.input = phase.output * stride + first - padding;
    phase.inputs = phase.input < size ? (size - phase.input - 1) / stride + 1 : 0;
    return phase;
}
