/* A whole network and its training by the plain forms of naive.h: every tensor in memory of its own, nothing in place. */
#ifndef NAIVE_MODEL_H
#define NAIVE_MODEL_H

#include "naive.h"
#include "network_file.h"

typedef struct {
    network_t network;
    int8_t *weights[ENGINE_MAX_LAYERS]; /* by layer */
    int8_t *out[ENGINE_MAX_LAYERS];     /* outputs of the last sample */
    int32_t exponent[ENGINE_MAX_LAYERS];
    int64_t *gradient[ENGINE_MAX_LAYERS];
    int64_t gradient_exponent[ENGINE_MAX_LAYERS];
    uint32_t errors; /* of the last sample: how many, and their digests, from the logits on */
    uint32_t error_digest[ENGINE_MAX_LAYERS];
} naive_model_t;

void naive_model_begin(naive_model_t *model, const network_file_t *file);
void naive_model_free(naive_model_t *model);

/* One step; `samples` holds `count` samples of int8 inputs. */
step_result_t naive_model_step(naive_model_t *model, const settings_t *settings, uint32_t step, const int8_t *samples,
                               const uint8_t *labels, uint32_t count);

/* Digest of an activation or error as docs/link.md has it for `trace`. */
uint32_t naive_digest(const int8_t *values, uint32_t n, int32_t exponent);

/* The backward pass of the sample that went forward last. */
void naive_model_backward(naive_model_t *model, uint8_t partition, const int8_t *sample, uint8_t label, bool first);

/* The logits of a sample; their exponent is that of the last layer. */
const int8_t *naive_model_forward(naive_model_t *model, const int8_t *sample);

#endif
