/* An engine of tflite8 with a made network, in an arena that ends where its plan does. */
#pragma once

#include "engine/engine.h"
#include "graph_made.h"
#include "methods/tflite8_methods.h"

typedef struct {
    engine_t *engine;
    uint8_t *arena;
    uint32_t planned;
} graph_trainee_t;

/* Small settings of a method that trains everything. */
tflite8_settings_t trainee_settings(void);

/* A method of tflite8 by its number. */
const method_t *graph_trainee_method(uint8_t number);

/* Configure a network whose file lies in RAM, or in flash. */
graph_trainee_t graph_trainee_new(const graph_made_t *made, const tflite8_settings_t *settings, bool flash);
/* Configure it again. */
failure_t graph_trainee_configure(graph_trainee_t *trainee, const tflite8_settings_t *settings);

void graph_trainee_free(graph_trainee_t *trainee);

/* Fill slots 0..count-1 with the samples first.. of a fixed sequence. */
void graph_trainee_fill(graph_trainee_t *trainee, uint16_t first, uint16_t count);

/* A step of `count` samples of that sequence, `at_once` of them in the slots at a time; returns the sum of the digests
   after it. */
uint32_t graph_trainee_step(graph_trainee_t *trainee, uint32_t step, uint16_t count, uint16_t at_once,
                            step_result_t *result);
