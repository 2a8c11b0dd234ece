#include "kernels/tflite_plane_s8.h"

#include <string.h>

plane_axis_t tflite_plane_axis(int32_t start, uint32_t step, uint32_t length, uint32_t size) {
    plane_axis_t axis = {.start = start, .step = step, .length = length, .size = size};
    uint32_t end = 0; /* elements before the far edge of the image */
    if (start < (int32_t)size) {
        end = (uint32_t)((int32_t)size - start - 1) / step + 1;
    }
    end = end < length ? end : length;
    axis.first = start < 0 ? ((uint32_t)-start + step - 1) / step : 0;
    axis.inside = end > axis.first ? end - axis.first : 0;
    return axis;
}

void tflite_plane_fill(const plane_axis_t *vertical, const plane_axis_t *horizontal, int8_t value, int8_t *plane) {
    memset(plane, value, vertical->length * horizontal->length + TFLITE_SLACK);
}

static inline uint32_t position_of_first(const plane_axis_t *axis) {
    return (uint32_t)(axis->start + (int32_t)(axis->first * axis->step));
}

void tflite_plane_take(const int8_t *in, uint32_t channels, const plane_axis_t *vertical,
                       const plane_axis_t *horizontal, int8_t *plane) {
    if (vertical->inside == 0 || horizontal->inside == 0) {
        return;
    }
    const uint32_t width = horizontal->size * channels, column = horizontal->step * channels;
    in += position_of_first(vertical) * width + position_of_first(horizontal) * channels;
    plane += vertical->first * horizontal->length + horizontal->first;
    for (uint32_t i = 0; i < vertical->inside; i++) {
        const int8_t *from = in;
        uint32_t j = 0;
        for (; j + 4 <= horizontal->inside; j += 4) {
            plane[j] = from[0];
            plane[j + 1] = from[column];
            plane[j + 2] = from[2 * column];
            plane[j + 3] = from[3 * column];
            from += 4 * column;
        }
        for (; j < horizontal->inside; j++) {
            plane[j] = *from;
            from += column;
        }
        in += vertical->step * width;
        plane += horizontal->length;
    }
}
