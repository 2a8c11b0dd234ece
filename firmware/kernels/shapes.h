/* The shape of a layer. Tensors are laid out height, width, channel; weights output, height, width, input. */
#pragma once

#include <stdint.h>

typedef struct {
    uint16_t in_h, in_w, in_c;
    uint16_t out_h, out_w, out_c;
    uint8_t kernel_h, kernel_w;   /* conv2d and pooling */
    uint8_t stride_h, stride_w;   /* not in bfp8, whose conv2d has 1, and its max_pool the kernel */
    uint8_t padding_h, padding_w; /* conv2d and pooling: above and left; in bfp8 on all sides, both the same */
} layer_shape_t;

static inline uint32_t shape_inputs(const layer_shape_t *shape) {
    return (uint32_t)shape->in_h * shape->in_w * shape->in_c;
}

static inline uint32_t shape_outputs(const layer_shape_t *shape) {
    return (uint32_t)shape->out_h * shape->out_w * shape->out_c;
}

/* Weights of an output channel of conv2d. */
static inline uint32_t shape_taps(const layer_shape_t *shape) {
    return (uint32_t)shape->kernel_h * shape->kernel_w * shape->in_c;
}

static inline uint32_t least_u32(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}
