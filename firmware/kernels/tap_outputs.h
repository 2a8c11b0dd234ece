/* Which outputs meet which inputs through a tap of a window, axis by axis (docs/arithmetic-tflite.md, section 2). */
#pragma once

#include <stdint.h>

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
