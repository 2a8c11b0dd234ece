/* Output channels one by one in binary32: docs/arithmetic-float32.md, section 5; docs/arithmetic-fqt.md, sections 4
   and 5. */
#include "kernels/layers_f32.h"

#include "kernels/meetings_f32.h"

void pack_channels_f32(float *error, uint32_t positions, uint32_t channels, const kept_f32_t *kept) {
    float *to = error;
    for (; positions > 0; positions--, error += channels) {
        for (uint32_t i = 0; i < kept->count; i++) {
            *to++ = error[kept->list[i]];
        }
    }
}

void error_norms_f32(const float *error, uint32_t positions, uint32_t channels, float *norms) {
    for (uint32_t o = 0; o < channels; o++) {
        norms[o] = __builtin_fabsf(*error++);
    }
    for (uint32_t p = 1; p < positions; p++) {
        for (uint32_t o = 0; o < channels; o++) {
            norms[o] = norms[o] + __builtin_fabsf(*error++);
        }
    }
}

static void take(moments_f32_t *moments, float g, float *gradient) {
    const float square = g * g;
    *gradient = *gradient + g;
    moments->sum = moments->sum + g;
    moments->squares = moments->squares + square;
}

moments_f32_t conv2d_f32_channel_gradient(const float *in, const float *error, const layer_shape_t *shape,
                                          uint32_t channel, float *gradient) {
    moments_f32_t moments = {0.0f, 0.0f};
    for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
        for (uint32_t kx = 0; kx < shape->kernel_w; kx++) {
            const meeting_t meeting = meeting_of(shape, ky, kx);
            for (uint32_t c = 0; c < shape->in_c; c++) {
                take(&moments, sum_meeting(error + channel, in + c, &meeting), gradient++);
            }
        }
    }
    return moments;
}

moments_f32_t depthwise_f32_channel_gradient(const float *in, const float *error, const layer_shape_t *shape,
                                             uint32_t channel, float *gradient) {
    moments_f32_t moments = {0.0f, 0.0f};
    for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
        for (uint32_t kx = 0; kx < shape->kernel_w; kx++, gradient += shape->in_c) {
            const meeting_t meeting = meeting_of(shape, ky, kx);
            take(&moments, sum_meeting(error + channel, in + channel, &meeting), gradient);
        }
    }
    return moments;
}

moments_f32_t fully_connected_f32_channel_gradient(const float *in, float error, uint32_t inputs, float *gradient) {
    moments_f32_t moments = {0.0f, 0.0f};
    for (uint32_t i = 0; i < inputs; i++) {
        take(&moments, add_product_f32(0.0f, in[i], error), gradient++);
    }
    return moments;
}

float channel_error_f32(const float *error, uint32_t positions, uint32_t channels, uint32_t channel) {
    float sum = 0.0f;
    for (uint32_t p = 0; p < positions; p++) {
        sum = sum + error[p * channels + channel];
    }
    return sum;
}
