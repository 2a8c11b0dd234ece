/* Chains in bfp8 for the tests: each layer reads the output of the one before. */
#pragma once

#include "graph_made.h"

enum { CHAIN_MOST_LAYERS = 32 };

void chain_begin(graph_made_t *made, uint16_t h, uint16_t w, uint16_t c, uint16_t classes);
void chain_conv2d(graph_made_t *made, uint16_t out_c, uint8_t kernel_h, uint8_t kernel_w, uint8_t padding,
                  int8_t exponent);
void chain_fully_connected(graph_made_t *made, uint16_t outputs, int8_t exponent);
void chain_relu(graph_made_t *made);
void chain_max_pool(graph_made_t *made, uint8_t k);

/* conv, relu, pool, conv, relu, pool, fc, relu, fc on 8 x 8 x 2: every operation, small. */
void chain_small(graph_made_t *made);

/* Any chain of up to 32 layers. */
void chain_random(graph_made_t *made);
