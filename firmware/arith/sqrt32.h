/* Between integers and binary32, each rounded once: docs/arithmetic-qzo-ff.md, section 1. */
#pragma once

#include <stdint.h>

/* The correctly rounded square root of a finite x >= 0. */
float sqrt32(float x);

/* The nearest integer, half to even, of |x| <= 2^30. */
int32_t float32_to_integer(float x);

/* The nearest number, half to even. A library may round twice. */
float float32_of_u64(uint64_t x);
