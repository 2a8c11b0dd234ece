#include "tflite_drawn.h"

#include "check.h"
#include "formats/tflite8_sizes.h"
#include "kernels/requantize.h"

static uint16_t draw_outputs(int32_t in, int32_t padding, int32_t stride) {
    return (uint16_t)draw(1, (in + padding - 1) / stride + 1);
}

layer_shape_t draw_window(bool depthwise) {
    static const int32_t common[] = {3, 5, 7};
    const bool square = draw(0, 1) == 1;
    layer_shape_t s = {.in_h = (uint16_t)draw(1, 12), .in_w = (uint16_t)draw(1, 12), .in_c = (uint16_t)draw(1, 9)};
    s.kernel_h = (uint8_t)(square ? common[draw(0, 2)] : draw(1, 9));
    s.kernel_w = square ? s.kernel_h : (uint8_t)draw(1, 9);
    const bool same = draw(0, 1) == 1; /* on both axes */
    s.padding_h = (uint8_t)(square && same ? s.kernel_h / 2 : draw(0, s.kernel_h - 1));
    s.padding_w = (uint8_t)(same && s.padding_h < s.kernel_w ? s.padding_h : draw(0, s.kernel_w - 1));
    s.stride_h = (uint8_t)draw(1, draw(0, 1) == 0 ? 2 : 4);
    s.stride_w = same ? s.stride_h : (uint8_t)draw(1, draw(0, 1) == 0 ? 2 : 4);
    s.out_h = draw_outputs(s.in_h, s.padding_h, s.stride_h);
    s.out_w = draw_outputs(s.in_w, s.padding_w, s.stride_w);
    s.out_c = depthwise ? s.in_c : (uint16_t)draw(1, 9);
    return s;
}

layer_shape_t draw_pointwise(void) {
    layer_shape_t s = {.in_h = (uint16_t)draw(1, 7), .in_w = (uint16_t)draw(1, 7), .in_c = (uint16_t)draw(1, 40)};
    s.out_h = s.in_h;
    s.out_w = s.in_w;
    s.out_c = (uint16_t)draw(1, 20);
    s.kernel_h = s.kernel_w = s.stride_h = s.stride_w = 1;
    return s;
}

graph_layer_t layer_of(enum op op, const layer_shape_t *shape) {
    return (graph_layer_t){
        .op = (uint8_t)op,
        .kernel_h = shape->kernel_h,
        .kernel_w = shape->kernel_w,
        .stride_h = shape->stride_h,
        .stride_w = shape->stride_w,
        .padding_h = shape->padding_h,
        .padding_w = shape->padding_w,
        .in_h = shape->in_h,
        .in_w = shape->in_w,
        .in_c = shape->in_c,
        .out_h = shape->out_h,
        .out_w = shape->out_w,
        .out_c = shape->out_c,
    };
}

uint64_t forward_scratch(enum op op, const layer_shape_t *shape) {
    const graph_layer_t layer = layer_of(op, shape);
    const work_layout_t layout = work_layout(&layer, (chained_t){.has_ring = false});
    return layout.end - layout.scratch;
}

uint64_t gradient_scratch(enum op op, const layer_shape_t *shape) {
    const graph_layer_t layer = layer_of(op, shape);
    const sums_layout_t layout = sums_layout(&layer, true);
    return layout.end - layout.scratch;
}

uint64_t input_error_scratch(enum op op, const layer_shape_t *shape) {
    const graph_layer_t layer = layer_of(op, shape);
    const back_layout_t layout = back_layout(&layer, graph_inputs(&layer));
    return layout.end - layout.scratch;
}

int8_t *draw_bytes(uint32_t n) {
    int8_t *values = take(n);
    const int32_t kind = draw(0, 9); /* now and then the ends only */
    for (uint32_t i = 0; i < n; i++) {
        values[i] = (int8_t)(kind == 0 ? (draw(0, 1) == 0 ? -128 : 127) : draw(-128, 127));
    }
    return values;
}

static int32_t draw_multiplier(void) {
    const int32_t kind = draw(0, 4);
    return kind == 0 ? 1 << 30 : kind == 1 ? INT32_MAX : draw(1 << 30, INT32_MAX);
}

/* Now and then any shift that there is; else the one that brings sums of this length to int8. */
static int32_t draw_shift(uint32_t taps) {
    if (draw(0, 7) == 0) {
        return draw(-31, 30);
    }
    int32_t shift = -5;
    for (uint32_t n = taps; n > 0; n /= 4) {
        shift--;
    }
    return shift + draw(-1, 1);
}

tflite_layer_t draw_layer(uint32_t channels, uint32_t taps) {
    int32_t *bias = take(channels * sizeof *bias), *multiplier = take(channels * sizeof *multiplier);
    int8_t *shift = take(channels);
    for (uint32_t c = 0; c < channels; c++) {
        bias[c] = draw(0, 9) == 0 ? draw(-(1 << 30), 1 << 30) : draw(-2000, 2000);
        multiplier[c] = draw_multiplier();
        shift[c] = (int8_t)draw_shift(taps);
    }
    const bool clamped = draw(0, 1) == 1;
    const int32_t act_min = clamped ? draw(-128, 127) : -128;
    return (tflite_layer_t){
        .input_zero = (int8_t)draw(-128, 127),
        .output_zero = (int8_t)draw(-128, 127),
        .act_min = (int8_t)act_min,
        .act_max = (int8_t)(clamped ? draw(act_min, 127) : 127),
        .bias = bias,
        .multiplier = multiplier,
        .shift = shift,
        .requantize = draw(0, 3) == 0 ? requantize_channels_single_s8 : requantize_channels_s8,
    };
}

void draw_layer_free(tflite_layer_t *layer) {
    free((void *)layer->bias);
    free((void *)layer->multiplier);
    free((void *)layer->shift);
}
