/* What TinyTrain shares with back-propagation: docs/arithmetic-tflite.md. */
#pragma once

#include "methods/tflite8_methods.h"

/* The functions `check` and `demand` of back-propagation. */
uint8_t back_propagation_check(const settings_t *settings, const graph_file_t *file);
void back_propagation_demand(placing_t *placing, const model_t *model, start_t start);

/* Take the gradient of a layer, and count its products. */
layer_errors_t back_propagation_learn;
