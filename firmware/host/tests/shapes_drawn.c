#include "shapes_drawn.h"

#include "check.h"

static uint16_t draw_size(int32_t least, int32_t most) {
    return (uint16_t)draw(least, most);
}

layer_shape_t draw_conv2d(void) {
    layer_shape_t shape = {
        .in_h = draw_size(1, 9),
        .in_w = draw_size(1, 9),
        .in_c = draw_size(1, 7),
        .out_c = draw_size(1, 9),
        .padding_h = (uint8_t)draw(0, 3),
    };
    shape.padding_w = shape.padding_h;
    /* padding < kernel <= padded input */
    shape.kernel_h = (uint8_t)draw(shape.padding_h + 1, shape.in_h + 2 * shape.padding_h);
    shape.kernel_w = (uint8_t)draw(shape.padding_h + 1, shape.in_w + 2 * shape.padding_h);
    shape.out_h = (uint16_t)(shape.in_h + 2 * shape.padding_h - shape.kernel_h + 1);
    shape.out_w = (uint16_t)(shape.in_w + 2 * shape.padding_h - shape.kernel_w + 1);
    return shape;
}

layer_shape_t conv2d_shape(int32_t in_h, int32_t in_w, int32_t in_c, int32_t out_c, int32_t kernel, int32_t padding) {
    return (layer_shape_t){
        .in_h = (uint16_t)in_h,
        .in_w = (uint16_t)in_w,
        .in_c = (uint16_t)in_c,
        .out_h = (uint16_t)(in_h + 2 * padding - kernel + 1),
        .out_w = (uint16_t)(in_w + 2 * padding - kernel + 1),
        .out_c = (uint16_t)out_c,
        .kernel_h = (uint8_t)kernel,
        .kernel_w = (uint8_t)kernel,
        .padding_h = (uint8_t)padding,
        .padding_w = (uint8_t)padding,
    };
}

layer_shape_t draw_max_pool(void) {
    const uint8_t k = (uint8_t)draw(1, 4);
    layer_shape_t shape = {.in_h = draw_size(k, 11), .in_w = draw_size(k, 11), .in_c = draw_size(1, 5)};
    shape.kernel_h = shape.kernel_w = k;
    shape.out_h = (uint16_t)(shape.in_h / k);
    shape.out_w = (uint16_t)(shape.in_w / k);
    shape.out_c = shape.in_c;
    return shape;
}

uint32_t conv2d_weights(const layer_shape_t *shape) {
    return (uint32_t)shape->out_c * shape->kernel_h * shape->kernel_w * shape->in_c;
}
