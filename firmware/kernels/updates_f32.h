/* Updates and perturbations of weights in binary32: docs/arithmetic-float32.md, section 6; Adam, which is AdamW without
   weight decay: docs/arithmetic-qzo-ff.md and docs/arithmetic-fqt.md, both section 6. */
#pragma once

#include <stdint.h>

/* weights = weights - clamp(rate * gradient, -2^20, 2^20). */
void update_f32(const float *gradient, uint32_t n, float rate, float *weights);

/* Move `n` weights by c times the normal numbers of the stream that begins with `state`; c is 0, or 2^-48 or more in
   magnitude. */
void move_f32(float *weights, uint32_t n, uint32_t state, float c);

/* First and second moment of an element; they begin at 0. */
typedef struct {
    float first, second;
} adamw_moments_t;

/* What is the same for all elements of a step. */
typedef struct {
    float beta1, beta2;   /* decay of the moments */
    float rest1, rest2;   /* 1 - beta */
    float weigh1, weigh2; /* 1 - the power of beta: what the moments are divided by */
    float epsilon;        /* added to the root of the second moment */
    float rate;
} adamw_t;

/* Take the gradient of an element into its moments; returns by how much it goes down. */
float adamw_step(const adamw_t *adamw, float gradient, float *first_moment, float *second_moment);
