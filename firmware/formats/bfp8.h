/* The format bfp8: int8 with one power-of-two exponent a tensor (docs/arithmetic.md). */
#pragma once

#include "engine/format.h"

extern const format_t bfp8;
extern const chain_training_t bfp8_chain;
