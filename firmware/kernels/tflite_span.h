/* One axis of a window: docs/arithmetic-tflite.md, section 2. */
#ifndef TFLITE_SPAN_H
#define TFLITE_SPAN_H

#include <stdint.h>

/* `before` taps lie in the padding, then `inside` taps in the image, on its positions from `at` on; the others lie behind it. */
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

#endif
