/* The largest of the logits. */
#ifndef ARGMAX_S8_H
#define ARGMAX_S8_H

#include <stdint.h>

/* The lowest index among the largest values; n >= 1. */
uint32_t argmax_s8(const int8_t *values, uint32_t n);

#endif
