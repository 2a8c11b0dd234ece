/* The numbers of docs/memory-graph.md beside what each kernel asks for: this file is built for every variant of the
   kernels. */
#include "check.h"
#include "formats/tflite8_sizes.h"
#include "kernels/tflite_conv2d_s8.h"
#include "kernels/tflite_depthwise_s8.h"
#include "tflite_drawn.h"

enum { ROUNDS = 20000 };

static graph_layer_t layer_of(enum op op, const layer_shape_t *shape) {
    return (graph_layer_t){
        .op = (uint8_t)op,
        .kernel_h = shape->kernel_h,
        .kernel_w = shape->kernel_w,
        .stride = shape->stride,
        .padding = shape->padding,
        .in_h = shape->in_h,
        .in_w = shape->in_w,
        .in_c = shape->in_c,
        .out_h = shape->out_h,
        .out_w = shape->out_w,
        .out_c = shape->out_c,
    };
}

/* Room for the scratch of the kernel alone, and in a chain. */
static uint64_t room(const graph_layer_t *layer, bool has_ring) {
    const work_layout_t layout = work_layout(layer, (chained_t){.has_ring = has_ring});
    CHECK(layout.scratch >= 4ull * layer->out_c, "room for the folded biases");
    return layout.ring - layout.scratch;
}

static layer_shape_t grown(layer_shape_t shape) {
    if (draw(0, 1) == 1) { /* beyond the sizes that the kernels are tested with */
        shape.in_c = (uint16_t)draw(1, 700);
        shape.out_c = (uint16_t)draw(1, 700);
        shape.out_w = (uint16_t)draw(1, 90);
        shape.out_h = (uint16_t)draw(1, 90);
    }
    return shape;
}

static void check_forward(void) {
    for (int round = 0; round < ROUNDS; round++) {
        const layer_shape_t window = grown(draw_window(false)), point = grown(draw_pointwise());
        layer_shape_t plane = grown(draw_window(true));
        plane.out_c = plane.in_c;
        const graph_layer_t conv = layer_of(OP_CONV2D, &window), pw = layer_of(OP_POINTWISE, &point),
                            dw = layer_of(OP_DEPTHWISE, &plane);
        CHECK(room(&conv, false) >= tflite_conv2d_s8_scratch(&window), "conv2d asks for %llu",
              (unsigned long long)tflite_conv2d_s8_scratch(&window));
        CHECK(room(&pw, false) >= tflite_pointwise_s8_scratch(&point), "pointwise");
        CHECK(room(&dw, false) >= tflite_depthwise_s8_scratch(&plane), "depthwise");
        plane.out_h = 1;
        CHECK(room(&dw, true) >= tflite_depthwise_s8_scratch(&plane), "depthwise, a row");
    }
}

static void check_gradients(void) {
    for (int round = 0; round < ROUNDS; round++) {
        const layer_shape_t window = grown(draw_window(false));
        layer_shape_t plane = grown(draw_window(true)), some = window;
        plane.out_c = plane.in_c;
        const graph_layer_t conv = layer_of(OP_CONV2D, &window), dw = layer_of(OP_DEPTHWISE, &plane);
        const sums_layout_t of_conv = sums_layout(&conv, true), of_dw = sums_layout(&dw, true);
        some.out_c = (uint16_t)of_conv.channels;
        CHECK(of_conv.errors >= 4ull * (graph_taps(&conv) + 1) * some.out_c,
              "the gradient of some channels and their biases");
        CHECK(of_conv.scratch - of_conv.errors >= (uint64_t)some.out_h * some.out_w * some.out_c, "their errors");
        CHECK(of_conv.end - of_conv.scratch >= tflite_conv2d_s8_weight_gradient_scratch(&some),
              "the gradient of conv2d");
        CHECK(of_dw.channels == dw.out_c && of_dw.errors >= 4ull * (graph_weight_count(&dw) + dw.out_c),
              "depthwise: all channels");
        CHECK(of_dw.end - of_dw.scratch >= tflite_depthwise_s8_weight_gradient_scratch(&plane),
              "the gradient of depthwise");
    }
}

static void check_input_errors(void) {
    for (int round = 0; round < ROUNDS; round++) {
        const layer_shape_t window = grown(draw_window(false));
        layer_shape_t plane = grown(draw_window(true));
        plane.out_c = plane.in_c;
        const graph_layer_t conv = layer_of(OP_CONV2D, &window), dw = layer_of(OP_DEPTHWISE, &plane);
        const back_layout_t of_conv = back_layout(&conv, graph_inputs(&conv)),
                            of_dw = back_layout(&dw, graph_inputs(&dw));
        CHECK(of_conv.levelled >= 4ull * graph_inputs(&conv), "the sums of an input's error");
        CHECK(of_conv.scratch - of_conv.levelled >= graph_outputs(&conv), "the errors in one scale");
        CHECK(of_conv.end - of_conv.scratch >= tflite_conv2d_s8_input_error_scratch(&window),
              "the error of conv2d's input");
        CHECK(of_dw.end - of_dw.scratch >= tflite_depthwise_s8_input_error_scratch(&plane),
              "the error of depthwise's input");
    }
}

void test_graph_sizes(void) {
    check_input_errors();
    check_forward();
    check_gradients();
}
