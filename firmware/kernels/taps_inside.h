/* Where the window of a convolution lies on its input. Private to the kernels of conv2d in the format bfp8. */
#pragma once

#include <stdint.h>

/* The part of a kernel axis that lies inside the input, for the output position `at`: taps first..end-1, the first of
   them on input position `input`. There is always one, as the padding is narrower than the kernel. */
typedef struct {
    uint32_t first, end, input;
} inside_t;

static inline inside_t taps_inside(uint32_t at, uint32_t kernel, uint32_t padding, uint32_t size) {
    const uint32_t first = at < padding ? padding - at : 0;
    const uint32_t room = size + padding - at; /* input positions from tap 0 to the far edge */
    return (inside_t){.first = first, .end = kernel < room ? kernel : room, .input = at + first - padding};
}
