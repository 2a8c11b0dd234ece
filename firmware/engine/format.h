/* A format: how values are stored and computed. The engine knows formats by this table alone. */
#pragma once

#include "engine/pass.h"

typedef struct format_table {
    enum format number;    /* in a network file */
    int8_t input_exponent; /* of value 0 */
    uint8_t label_bytes; /* 2: an empty slot shows in its label; 1: in its first input, which `load` never makes -128 */
    bool stays_in_flash; /* a file may be used where it lies in flash: what is trained is copied */
    bool has_biases;     /* layers with weights have biases too */
    bool trains_all;     /* every tensor is trained, whatever the settings: they can be read before there are any */
    uint32_t channel_bytes; /* of sums of weights, which go with a copy of the weights */

    /* Pixels, 0..255, as values. */
    void (*load)(int8_t *values, const uint8_t *pixels, uint32_t n);
    /* Run a layer; or the chain of layers that begins with it, NULL where there are none. */
    void (*run)(model_t *model, const pass_t *pass, uint8_t l);
    void (*run_chain)(model_t *model, const pass_t *pass, uint8_t l);
    /* The loss of the logits of a sample. */
    float (*loss)(const model_t *model, const int8_t *logits, uint32_t label);
    /* The weights of a layer were written: make anew what follows from them. May be NULL. */
    void (*rewritten)(const model_t *model, uint8_t l);
} format_t;
