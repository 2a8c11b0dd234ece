#include "kernels/pad_input_s8.h"

#include <string.h>

enum { SLACK = 64 };

uint64_t pad_input_s8_scratch(const layer_shape_t *shape) {
    const uint64_t height = shape->in_h + 2u * shape->padding_h;
    const uint64_t width = shape->in_w + 2u * shape->padding_w;
    return height * width * shape->in_c + SLACK;
}

void pad_input_s8(const int8_t *in, const layer_shape_t *shape, int8_t *scratch) {
    const uint32_t row = (uint32_t)shape->in_w * shape->in_c;
    const uint32_t side = (uint32_t)shape->padding_w * shape->in_c;
    const uint32_t rows_above = shape->padding_h * (row + 2 * side);
    int8_t *out = scratch;
    memset(out, 0, rows_above);
    out += rows_above;
    for (uint32_t y = 0; y < shape->in_h; y++) {
        memset(out, 0, side);
        memcpy(out + side, in, row);
        memset(out + side + row, 0, side);
        out += row + 2 * side;
        in += row;
    }
    memset(out, 0, rows_above);
}
