/* One channel of a tensor as a plane of its own, with padding: what depthwise convolutions work on. Positions of a plane may be
   every step-th of the tensor, so that the passes of strided convolutions become convolutions of stride 1. */
#ifndef TFLITE_PLANE_S8_H
#define TFLITE_PLANE_S8_H

#include <stdint.h>

enum { TFLITE_PLANE_SLACK = 8 }; /* bytes behind a plane that a kernel may read */

/* An axis of a plane: element i is position start + i * step of an image of `size`, or padding where that is outside. */
typedef struct {
    int32_t start;
    uint32_t step, length, size;
    uint32_t first, inside; /* elements in the image, from `first` on */
} plane_axis_t;

plane_axis_t tflite_plane_axis(int32_t start, uint32_t step, uint32_t length, uint32_t size);

/* Make every element, and the slack, padding of this value. */
void tflite_plane_fill(const plane_axis_t *vertical, const plane_axis_t *horizontal, int8_t value, int8_t *plane);

/* Copy what is in the image of one channel, `in` being at its first value; the padding stays as it is. */
void tflite_plane_take(const int8_t *in, uint32_t channels, const plane_axis_t *vertical,
                       const plane_axis_t *horizontal, int8_t *plane);

#endif
