/* Output channels one by one in binary32: docs/arithmetic-float32.md, section 5; docs/arithmetic-fqt.md, sections 4
   and 5. */
#include "kernels/channels_f32.h"

#include "kernels/sums_f32.h"
#include "kernels/windows.h"

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

/* The outputs that one tap meets, and how far apart their errors and the inputs under it are. */
typedef struct {
    uint32_t rows, columns;
    uint32_t error_row, error_column, input_row, input_column;
    uint32_t error, input; /* where the first are */
} meeting_t;

static meeting_t meeting_of(const layer_shape_t *shape, uint32_t ky, uint32_t kx) {
    const tap_outputs_t rows = outputs_of_tap(ky, shape->stride_h, shape->padding_h, shape->in_h, shape->out_h);
    const tap_outputs_t columns = outputs_of_tap(kx, shape->stride_w, shape->padding_w, shape->in_w, shape->out_w);
    const bool none = rows.first >= rows.end || columns.first >= columns.end;
    const uint32_t in_c = shape->in_c, out_c = shape->out_c;
    return (meeting_t){.rows = none ? 0 : rows.end - rows.first,
                       .columns = none ? 0 : columns.end - columns.first,
                       .error_row = (uint32_t)shape->out_w * out_c,
                       .error_column = out_c,
                       .input_row = (uint32_t)shape->in_w * in_c * shape->stride_h,
                       .input_column = in_c * shape->stride_w,
                       .error = (rows.first * shape->out_w + columns.first) * out_c,
                       .input = (rows.input * shape->in_w + columns.input) * in_c};
}

static float sum_outputs(const float *error, const float *in, const meeting_t *meeting) {
    float sum = 0.0f;
    for (uint32_t y = 0; y < meeting->rows; y++) {
        const float *e = error + meeting->error + y * meeting->error_row,
                    *x = in + meeting->input + y * meeting->input_row;
        for (uint32_t i = 0; i < meeting->columns; i++, e += meeting->error_column, x += meeting->input_column) {
            sum = add_product_f32(sum, *x, *e);
        }
    }
    return sum;
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
                take(&moments, meeting.rows > 0 ? sum_outputs(error + channel, in + c, &meeting) : 0.0f, gradient++);
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
            take(&moments, meeting.rows > 0 ? sum_outputs(error + channel, in + channel, &meeting) : 0.0f, gradient);
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
