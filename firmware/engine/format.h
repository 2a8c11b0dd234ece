/* A format: how values are stored and computed. This table is all that the engine knows of a format. */
#pragma once

#include "engine/pass.h"
#include "kernels/perturbation.h"

/* What a format provides for training a chain by perturbation and back-propagation: docs/arithmetic.md, sections 7 to
   9. Weights are those of a tensor, in the type of the format. */
typedef struct {
    uint8_t sum_bytes; /* of the sum for each output and for the error of each input; 0: sums are not kept */
    uint64_t (*scratch)(const layer_shape_t *shape);          /* bytes, of a convolution's forward pass; NULL: none */
    uint64_t (*gradient_scratch)(const layer_shape_t *shape); /* of its gradient */

    /* limit: weights = clip(weights) to the limit, in steps of z. to_perturb, to_update: make the moves of a
       perturbation, of an update. move: move the weights by them. */
    void (*limit)(int8_t *weights, uint32_t n, int32_t limit);
    void (*to_perturb)(moves_t *moves, noise_t noise, int32_t k, uint8_t limit);
    void (*to_update)(moves_t *moves, noise_t noise, int32_t sign, int32_t b_zo, uint8_t limit);
    void (*move)(int8_t *weights, uint32_t n, uint32_t state, const moves_t *moves);

    /* backward_begin: begin a step, with gradients of 0. backward: add the gradients of the group whose forward pass
       was `pass`; `first`: the first group of the step; `zero_sum`: the errors of a sample's logits sum to zero.
       update: update the weights by the gradients. */
    void (*backward_begin)(const model_t *model);
    void (*backward)(model_t *model, const pass_t *pass, const uint8_t *labels, bool first, bool zero_sum);
    void (*update)(const model_t *model, int32_t b_bp);
} chain_training_t;

#define CHAIN_SCRATCH PLAN_OWN /* the buffers for the scratch of a convolution's forward pass */

/* Requests of the link (docs/link.md) that not every format serves: bits of `serves`. */
enum { SERVES_WRITE_TENSOR = 1, SERVES_WORK = 2, SERVES_MLPERF_TINY = 4 };

/* Values and weights are bytes here: they have the type of the format. */
typedef struct format_table {
    uint8_t number;        /* in a network file */
    int8_t input_exponent; /* of value 0 */
    uint8_t label_bytes;   /* 2: an empty slot shows in its label; 1: in its first input, never 0x80 in all bytes */
    bool stays_in_flash;   /* a file may be used in place in flash; what is trained is copied to RAM */
    bool has_biases;       /* layers with weights have biases too */
    bool trains_all;       /* settings do not change which tensors are trained: they can be read before `configure` */
    uint8_t bias_offset;   /* from the parameters of a layer to its biases, in bytes; and so many more by channel */
    uint8_t bias_step;
    uint8_t tail_bytes;     /* of the parameters that are trained with the weights before them */
    uint32_t channel_bytes; /* of what is made of the weights of a channel, which follows a copy of them */

    /* Pixels, 0..255, as values of a sample; or as pixels, where it keeps them. */
    void (*load)(int8_t *values, const uint8_t *pixels, uint32_t n);
    /* Make value 0 of the sample of a pass, whose pixels were kept. NULL: the sample is value 0. */
    void (*open)(model_t *model, const pass_t *pass);
    /* Run a layer; run the chain of layers that begins with it. run_chain may be NULL. */
    void (*run)(model_t *model, const pass_t *pass, uint8_t l);
    void (*run_chain)(model_t *model, const pass_t *pass, uint8_t l);
    /* The loss of the logits of a sample; and the lowest index of the largest of them. */
    float (*loss)(const model_t *model, const int8_t *logits, uint32_t label);
    uint32_t (*predicted)(const int8_t *logits, uint32_t n);
    /* Whether what is written to a trained tensor may be the value that begins with byte `at` of it. NULL: any. */
    bool (*may_be)(const model_t *model, const written_t *written, uint32_t at);
    /* A trained tensor of a layer was written: compute again what depends on it. May be NULL. */
    void (*rewritten)(const model_t *model, uint8_t l, enum tensor_kind kind);
    /* Bytes of the trained tensor that a layer without weights has, in its parameters; 0: none. NULL: no layer has. */
    uint32_t (*range_bytes)(const graph_layer_t *layer);
    const chain_training_t *chain; /* NULL: its networks are no chains */
    uint8_t serves;                /* a set of SERVES_... */
} format_t;

/* `may_be` where weights are int8: any but -128. */
bool may_be_s8(const model_t *model, const written_t *written, uint32_t at);

/* The format of a layer, of a network that there is. */
const format_t *model_format(const model_t *model, uint8_t l);

/* Whether all formats of the network serve a request: a bit SERVES_... */
bool model_serves(const model_t *model, uint8_t service);
