/* The layers of the format affine8 as they lie in a network file: docs/arithmetic-affine8.md, section 8. */
#pragma once

#include "arith/affine8.h"
#include "graph/file.h"

/* The real numbers that -128 and 127 of an output stand for. */
typedef struct {
    float low, high;
} affine8_range_t;

/* What the trained tensor of a layer with weights ends with: s_w, z_w, and the range of the output. */
typedef struct {
    float scale;
    int8_t zero;
    uint8_t none[3];
    affine8_range_t range;
} affine8_tail_t;

/* The parameters of a layer with weights. As many binary32 biases follow. */
typedef struct {
    affine8_tail_t tail;
    graph_limits_t limits;
    int32_t folded[]; /* b' of the output channels */
} affine8_weighted_t;

/* The parameters of any other layer. */
typedef struct {
    affine8_range_t range;
    graph_limits_t limits;
} affine8_unweighted_t;

_Static_assert(sizeof(affine8_weighted_t) == 24 && sizeof(affine8_unweighted_t) == 16, "section 8");

static inline const affine8_weighted_t *affine8_weighted(const graph_file_t *file, const graph_layer_t *layer) {
    return (const affine8_weighted_t *)(const void *)(file->bytes + layer->parameters_offset);
}

static inline const affine8_unweighted_t *affine8_unweighted(const graph_file_t *file, const graph_layer_t *layer) {
    return (const affine8_unweighted_t *)(const void *)(file->bytes + layer->parameters_offset);
}

static inline const graph_limits_t *affine8_limits(const graph_file_t *file, const graph_layer_t *layer) {
    return graph_has_weights(layer) ? &affine8_weighted(file, layer)->limits : &affine8_unweighted(file, layer)->limits;
}

static inline const float *affine8_biases(const graph_file_t *file, const graph_layer_t *layer) {
    return (const float *)(const void *)&affine8_weighted(file, layer)->folded[layer->out_c];
}

/* The rounding of the layers of affine8, which is that of the first of them; to nearest where there are none. */
bool affine8_floors(const graph_file_t *file);

/* Whether a layer has a range of its own, which training moves. A pool has that of its input. */
static inline bool affine8_has_range(const graph_layer_t *layer) {
    return layer->format == FORMAT_AFFINE8 && !graph_is_pool(layer);
}

/* The value whose scale and zero point a value has: itself, or what its pools read. */
uint8_t affine8_source(const graph_file_t *file, uint8_t value);

/* s of a range. */
static inline float affine8_scale(const affine8_range_t *range) {
    return (range->high - range->low) / 255.0f;
}

/* Scale and zero point of a value whose source has no range of its own: the input, or one of tflite8. */
affine8_params_t affine8_fixed(const graph_file_t *file, uint8_t source);

/* Of any value of affine8 or tflite8, as the file has them. */
affine8_params_t affine8_of_file(const graph_file_t *file, uint8_t value);

/* What turns a bias into b'. */
typedef struct {
    const graph_layer_t *layer;
    const int8_t *weights;
    float j; /* j_b */
    int8_t weight_zero, input_zero;
} affine8_fold_t;

affine8_fold_t affine8_fold_of(const graph_layer_t *layer, const int8_t *weights, const affine8_tail_t *tail,
                               const affine8_params_t *input);
int32_t affine8_folded(const affine8_fold_t *fold, uint32_t channel, float bias);

/* Checks 9 and 13 of numbers that also come through the link: s_w; (s_x * s_w) / s_y; the range of an output. */
bool affine8_is_weight_scale(float scale);
bool affine8_is_ratio(float product, const affine8_range_t *range);
bool affine8_is_range(const affine8_range_t *range, const graph_limits_t *limits);
