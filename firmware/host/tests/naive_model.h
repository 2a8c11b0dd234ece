/* A whole network and its passes by the plain forms of naive.h: every tensor in memory of its own, nothing in place. */
#pragma once

#include "chain_made.h"
#include "naive.h"

typedef struct {
    graph_file_t file;
    int8_t *weights[GRAPH_MAX_LAYERS];  /* by layer */
    int8_t *out[GRAPH_MAX_LAYERS];      /* outputs of the last group */
    int32_t exponent[GRAPH_MAX_LAYERS]; /* of the last group */
    int64_t *gradient[GRAPH_MAX_LAYERS];
    int64_t gradient_exponent[GRAPH_MAX_LAYERS];
    uint32_t observed; /* member of the group whose errors are noted */
    uint32_t errors;   /* of the last group: how many stages, and the observed member's digests, from the logits on */
    uint32_t error_digest[GRAPH_MAX_LAYERS];
} naive_model_t;

/* `most`: samples of the largest group. */
void naive_model_begin(naive_model_t *model, const graph_made_t *file, uint32_t most);
void naive_model_free(naive_model_t *model);

/* The logits of the `count` samples of a group, one sample after the other; their exponent is that of the last
   layer. */
const int8_t *naive_model_forward(naive_model_t *model, const int8_t *samples, uint32_t count);

/* The backward pass of the group that went forward last; `first`: it is the first of the step. */
void naive_model_backward(naive_model_t *model, const elasticzo_settings_t *settings, const int8_t *samples,
                          const uint8_t *labels, uint32_t count, bool first);

/* Digest of an activation or error as docs/link.md has it for `trace`. */
uint32_t naive_digest(const int8_t *values, uint32_t n, int32_t exponent);
