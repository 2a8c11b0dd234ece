/* Index arithmetic of windows, axis by axis: docs/arithmetic-tflite.md, section 2. Private to the kernels. */
#pragma once

#include <stdint.h>

/* One axis of a window: the first `before` taps lie in the padding, the next `inside` taps in the image at its
   positions from `at` on, the others in the padding beyond it. */
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

/* With a stride of 1 and a padding narrower than the kernel: the part of a kernel axis that lies inside the input, for
   the output position `at`: taps first..end-1, of which there is one at least, the first on input position `input`. */
typedef struct {
    uint32_t first, end, input;
} inside_t;

static inline inside_t taps_inside(uint32_t at, uint32_t kernel, uint32_t padding, uint32_t size) {
    const uint32_t first = at < padding ? padding - at : 0;
    const uint32_t room = size + padding - at; /* input positions from tap 0 to the far edge */
    return (inside_t){.first = first, .end = kernel < room ? kernel : room, .input = at + first - padding};
}

#define NO_OUTPUT UINT32_MAX

/* The output position whose tap `tap` is the input position `input`; NO_OUTPUT where there is none. */
static inline uint32_t output_of_tap(uint32_t input, uint32_t tap, uint32_t stride, uint32_t padding,
                                     uint32_t outputs) {
    const uint32_t start = input + padding - tap; /* of the window, in the padded image; large where it is below 0 */
    return start / stride < outputs && start % stride == 0 ? start / stride : NO_OUTPUT;
}

/* The output positions whose tap `tap` is inside an image of `size` positions: first..end - 1; `first` is `end` or
   more where there are none. The tap of the first is the input position `input`. */
typedef struct {
    uint32_t first, end, input;
} tap_outputs_t;

static inline tap_outputs_t outputs_of_tap(uint32_t tap, uint32_t stride, uint32_t padding, uint32_t size,
                                           uint32_t outputs) {
    const uint32_t first = tap < padding ? (padding - tap + stride - 1) / stride : 0;
    const uint32_t end = size + padding > tap ? (size + padding - tap - 1) / stride + 1 : 0;
    return (tap_outputs_t){
        .first = first, .end = end < outputs ? end : outputs, .input = first * stride + tap - padding};
}
