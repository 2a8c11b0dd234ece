/* The passes over the error of hard_swish on cores that have them. Private to its kernels. */
#pragma once

#include <stddef.h>

#include "kernels/affine8_errors.h"
#include "kernels/dsp.h"

#if KERNELS_DSP
extern const affine8_passes_t affine8_sloped_passes;
#define AFFINE8_SLOPED_PASSES (&affine8_sloped_passes)
#else
#define AFFINE8_SLOPED_PASSES NULL
#endif
