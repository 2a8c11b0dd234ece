/* The buffers of the methods that train tflite8, and when they are in use: docs/memory-graph.md. */
#ifndef TFLITE8_DEMAND_H
#define TFLITE8_DEMAND_H

#include "methods/tflite8_settings.h"

/* Lines of a method's own, no two of them at the same time. */
#define TFLITE8_NODE PLAN_OWN
#define TFLITE8_COORDINATES PLAN_OWN
#define TFLITE8_VELOCITY PLAN_OWN

#define TFLITE8_QUERIES PLAN_METHOD

/* Labels, `queries` bytes of queries, samples, and gradients of several samples. */
void tflite8_stand(plan_t *plan, const model_t *model, uint64_t queries);

/* Four bytes for everything that is trained, layer by layer: of a line. */
void tflite8_stand_coordinates(plan_t *plan, const model_t *model, enum plan_line line);

/* The buffers of passes from a start on, which other buffers follow: values and work. */
void tflite8_demand_passes(placing_t *placing, const model_t *model, start_t start);

/* Those of gradients from nodes, from coordinates, and of errors on their way back. */
void tflite8_demand_nodes(placing_t *placing, const model_t *model, start_t start);
void tflite8_demand_coordinates(placing_t *placing, const model_t *model, start_t start);
void tflite8_demand_backward(placing_t *placing, const model_t *model);

#endif
