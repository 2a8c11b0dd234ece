/* Windows of a layer that lie partly in the padding. */
#pragma once

#include <stdint.h>

/* Taps of an axis, or places. */
typedef struct {
    int32_t first, end;
} Range;

/* Return the taps that lie inside an axis of `size` places, of a window of `kernel` taps whose first lies at `at`. */
static inline Range taps_from(int32_t at, int32_t kernel, int32_t size) {
    return (Range){at < 0 ? -at : 0, size - at < kernel ? size - at : kernel};
}
