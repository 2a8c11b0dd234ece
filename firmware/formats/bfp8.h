/* The format bfp8: int8 with one power-of-two exponent a tensor (docs/arithmetic.md). */
#ifndef BFP8_H
#define BFP8_H

#include "engine/format.h"

extern const format_t bfp8;
extern const chain_training_t bfp8_chain;

#endif
