/* A multilayer perceptron in float32: 2 inputs, 16 hidden units with ReLU, 2 classes with softmax. */
#pragma once

enum { INPUTS = 2, HIDDEN = 16, CLASSES = 2, BATCH = 16 };

typedef struct {
    float w1[HIDDEN][INPUTS];
    float b1[HIDDEN];
    float w2[CLASSES][HIDDEN];
    float b2[CLASSES];
} mlp_t;

void mlp_init(mlp_t *net);

/* Train one batch with SGD, and return its mean cross-entropy before the update. `step` is counted from 0. */
float mlp_step(mlp_t *net, int step);

/* The fraction of `count` samples of the batches after the training that are classified correctly. */
float mlp_accuracy(const mlp_t *net, int count);
