#include "kernels/convolution.h"
#include "kernels/pad_input_s8.h"

/* One formula for all cores, so that the host plans for any of them: the padded input, and for the DSP variant the sums
   of one output channel. */
uint64_t conv2d_s8_weight_gradient_scratch(const layer_shape_t *shape) {
    const uint64_t taps = (uint64_t)shape->kernel_h * shape->kernel_w * shape->in_c;
    return pad_input_s8_scratch(shape) + sizeof(int32_t) * taps;
}
