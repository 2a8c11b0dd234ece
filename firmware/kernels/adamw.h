/* AdamW without weight decay in binary32: docs/arithmetic-qzo-ff.md, section 6. */
#pragma once

/* First and second moment of an element; they begin at 0. */
typedef struct {
    float first, second;
} adamw_moments_t;

/* What is the same for all elements of a step. */
typedef struct {
    float beta1, beta2;   /* decay of the moments */
    float rest1, rest2;   /* 1 - beta */
    float weigh1, weigh2; /* 1 - the power of beta: what the moments are divided by */
    float rate;
} adamw_t;

/* Take the gradient of an element into its moments; returns by how much it goes down. */
float adamw_step(const adamw_t *adamw, float gradient, adamw_moments_t *moments);
