/* Writes network files in affine8, also with layers of float32 and tflite8, for the tests: docs/arithmetic-affine8.md,
   section 8. What a layer stands for is computed here again, from the text. */
#pragma once

#include "engine/engine.h"
#include "graph_made.h"
#include "methods/settings.h"

/* A layer as the tests describe it. Its weights and biases are those of the text's networks. */
typedef struct {
    enum op op;
    enum format format;
    uint8_t reads[2];
    uint8_t kernel, stride, padding;
    uint16_t out_c; /* of conv2d, pointwise and fully_connected */
    float low, high, act_min, act_max;
} affine8_spec_t;

#define NO_LIMIT 0x1p40f

/* A graph; `rounding` is the byte of the header. */
typedef struct {
    uint16_t h, w, c;
    float scale;
    int8_t zero;
    uint8_t rounding, layers;
    const affine8_spec_t *layer;
    bool without_biases; /* they are 0 */
} affine8_graph_t;

/* Write its bytes. */
void affine8_finish(graph_made_t *made, const affine8_graph_t *graph);

/* The networks A, B and C of section 11, A and B also in float32. */
void affine8_network(graph_made_t *made, char name, bool in_float32, uint8_t rounding);

/* Settings of FQT by default, a batch of 2 and eta = 0.01. */
fqt_settings_t fqt_defaults(void);

/* An engine with such a network, in an arena that ends where its plan does; the file in RAM, or in flash. */
typedef struct {
    engine_t *engine;
    uint8_t *arena;
    uint32_t planned;
} fqt_trainee_t;

fqt_trainee_t fqt_trainee_new(const graph_made_t *made, const fqt_settings_t *settings, bool in_flash);
void fqt_trainee_free(fqt_trainee_t *trainee);

/* Fill slots 0..count-1 with samples first.. of section 11. */
void fqt_fill(const fqt_trainee_t *trainee, uint16_t first, uint16_t count);
