#include "kernels/fpu.h"

#if KERNELS_FPU

#include "kernels/block_f32.h"

const float block_zeros[BLOCK_ZEROS];

#endif
