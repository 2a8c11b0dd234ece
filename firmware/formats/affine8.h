/* The format affine8: int8 with a scale and a zero point for each tensor, which training moves
   (docs/arithmetic-affine8.md). */
#pragma once

#include "engine/format.h"
#include "graph/affine8.h"
#include "kernels/affine8.h"

extern const format_t affine8;

#define AFFINE8_TABLE PLAN_GRADIENT /* the buffers for tables of hard_swish, which has no gradient */

/* What is looked up for each input of a hard_swish, from -128 on. Only a layer that is reached has slopes. */
typedef struct {
    int8_t outputs[256];
    int16_t slopes[256];
} affine8_table_t;

enum { AFFINE8_OUTPUTS_BYTES = 256 };

static inline affine8_table_t *affine8_table(const model_t *model, uint8_t l) {
    return (affine8_table_t *)(void *)model_buffer(model, AFFINE8_TABLE, l);
}

/* s_w, z_w and the range of the output of a layer with weights; and the range of any layer that has one, as they are
   now. */
affine8_tail_t *affine8_tail(const model_t *model, uint8_t l);
affine8_range_t *affine8_range(const model_t *model, uint8_t l);

/* b' and the biases of a layer with weights. */
int32_t *affine8_folded_biases(const model_t *model, uint8_t l);
float *affine8_own_biases(const model_t *model, uint8_t l);

/* Scale and zero point of a value of affine8 or tflite8, as they are now. */
affine8_params_t affine8_value(const model_t *model, uint8_t value);

/* Whether the errors of a graph and its values are rounded down. */
static inline bool affine8_rounds_down(const model_t *model) {
    return affine8_floors(&model->file);
}

/* Compute again what a layer keeps of the numbers that training moves: b', or the table. */
void affine8_refresh(const model_t *model, uint8_t l);

/* What the format's table has of these tensors. */
bool affine8_may_be(const model_t *model, const written_t *written, uint32_t at);
void affine8_rewritten(const model_t *model, uint8_t l, enum tensor_kind kind);
uint32_t affine8_range_bytes(const graph_layer_t *layer);

/* Bytes of a layer's `work`, of a layer with weights: docs/arithmetic-fqt.md, section 10. */
uint64_t affine8_work(const graph_layer_t *layer);
