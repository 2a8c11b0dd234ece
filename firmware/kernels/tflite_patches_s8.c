#include "kernels/tflite_gradient_sums_s8.h"

#include <string.h>

#include "kernels/tflite_windows.h"

static int8_t *take_patch(const int8_t *in, const layer_shape_t *shape, int8_t zero, span_t vertical, span_t horizontal,
                          int8_t *patch) {
    const uint32_t in_c = shape->in_c, row = shape->kernel_w * in_c;
    const uint32_t before = horizontal.before * in_c, inside = horizontal.inside * in_c;
    const int8_t *from = in + (vertical.at * shape->in_w + horizontal.at) * in_c;
    memset(patch, zero, vertical.before * row);
    patch += vertical.before * row;
    for (uint32_t i = 0; i < vertical.inside; i++) {
        memset(patch, zero, before);
        memcpy(patch + before, from, inside);
        memset(patch + before + inside, zero, row - before - inside);
        patch += row;
        from += shape->in_w * in_c;
    }
    const uint32_t below = (shape->kernel_h - vertical.before - vertical.inside) * row;
    memset(patch, zero, below);
    return patch + below;
}

void tflite_patches_s8(const int8_t *in, const layer_shape_t *shape, int8_t input_zero, uint32_t first,
                       uint32_t positions, int8_t *patches) {
    uint32_t y = first / shape->out_w, x = first % shape->out_w;
    for (uint32_t p = 0; p < positions; p++) {
        const span_t vertical = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        const span_t horizontal = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
        patches = take_patch(in, shape, input_zero, vertical, horizontal, patches);
        if (++x == shape->out_w) {
            x = 0;
            y++;
        }
    }
}
