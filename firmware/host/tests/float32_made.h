/* Writes network files in float32, and trains them, for the tests. */
#pragma once

#include "engine/engine.h"
#include "graph_made.h"
#include "kernels/sums_f32.h"
#include "methods/settings.h"

/* Limits of outputs: none, ReLU, ReLU6. */
extern const limits_f32_t no_limits, relu_limits, relu6_limits;

/* Write the bytes of a graph that was drawn with the functions of graph_made.h, as float32: `limits` of every layer,
   and the elements of the trained tensors (weights, then biases, of each layer with weights). */
void float32_finish(graph_made_t *made, float scale, int8_t zero, const limits_f32_t *limits,
                    float (*element)(uint32_t tensor, uint32_t i));

/* An engine with such a network, in an arena that ends where its plan does. */
typedef struct {
    engine_t *engine;
    uint8_t *arena;
    uint32_t planned;
} float32_trainee_t;

float32_trainee_t float32_trainee_new(const graph_made_t *made, const elasticzo_fp32_settings_t *settings);
void float32_trainee_free(float32_trainee_t *trainee);

/* Element i of tensor l, byte i of sample b, and the settings of the networks of docs/arithmetic-float32.md,
   section 13; and its networks A and B. The label of sample b is b. */
float vector_element(uint32_t tensor, uint32_t i);
uint8_t vector_pixel(uint32_t sample, uint32_t i);

/* Fill slots 0..count-1 with such samples, from `first` on. */
void vector_fill(engine_t *engine, uint16_t first, uint16_t count);
elasticzo_fp32_settings_t vector_settings(uint8_t partition);
void made_network_a(graph_made_t *made);
void made_network_b(graph_made_t *made);

/* Fill slots 0..count-1 with the samples first.. of that section. */
void float32_fill(const float32_trainee_t *trainee, uint16_t first, uint16_t count);
