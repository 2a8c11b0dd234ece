/* The sizes of docs/memory.md beside what the kernels need. The work on the weights differs by variant of the
   kernels. That no kernel writes beyond its scratch is checked where the kernels are tested. */
#include "check.h"
#include "formats/tflite8_sizes.h"
#include "kernels/conv_band_s8.h"
#include "kernels/convolution.h"
#include "tflite_drawn.h"

enum { ROUNDS = 20000 };

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

/* What conv2d needs for a band: the work on the weights, which differs by core, the sums of two channels, and the
   inputs, on some cores in 16 bits. */
static uint64_t band_bytes(const layer_shape_t *shape) {
    const uint32_t taps = (uint32_t)shape->kernel_h * shape->kernel_w * shape->in_c;
    const uint32_t wanted = TFLITE_BAND_PRODUCTS / taps;
    const uint32_t positions = wanted > TFLITE_BAND_POSITIONS ? wanted : TFLITE_BAND_POSITIONS;
    const uint32_t most = (positions + shape->out_w - 1) / shape->out_w;
    const uint32_t rows = most < shape->out_h ? most : shape->out_h;
    const uint64_t pitch = (conv_band_width(shape, shape->stride_w) + 1u) / 2 * 2;
    const uint64_t inputs = pitch * conv_band_rows(shape, shape->stride_h, rows);
    return conv_band_work(shape) + 8ull * rows * shape->out_w + inputs * sizeof(int16_t) + TFLITE_SLACK;
}

/* What pointwise needs: that of conv2d for a block as an image of one row. */
static uint64_t block_bytes(const layer_shape_t *shape) {
    const uint32_t fit = (uint32_t)TFLITE_BLOCK_INPUTS / shape->in_c / 2 * 2;
    const uint32_t more = fit > TFLITE_BLOCK_LEAST ? fit : TFLITE_BLOCK_LEAST;
    layer_shape_t row = *shape;
    row.in_h = row.out_h = 1;
    row.in_w = row.out_w = (uint16_t)(more < TFLITE_BLOCK_MOST ? more : TFLITE_BLOCK_MOST);
    return band_bytes(&row);
}

/* The padded plane of a channel in a forward pass, and its taps. */
static uint64_t padded_plane(const layer_shape_t *shape) {
    const uint64_t height = (shape->out_h - 1ull) * shape->stride_h + shape->kernel_h;
    const uint64_t width = (shape->out_w - 1ull) * shape->stride_w + shape->kernel_w;
    return height * width + (uint64_t)shape->kernel_h * shape->kernel_w;
}

/* The first phase of a strided axis, which is the longest: of the inputs under its taps, and of the errors that reach
   its inputs. */
static uint64_t inputs_of_phase(uint32_t outputs, uint32_t stride, uint32_t kernel) {
    return outputs + (kernel - 1ull) / stride;
}

static uint64_t errors_of_phase(uint32_t inputs, uint32_t stride, uint32_t kernel) {
    return (inputs - 1ull) / stride + 1 + (kernel - 1ull) / stride;
}

static void check_forward(void) {
    for (int round = 0; round < ROUNDS; round++) {
        const layer_shape_t window = grown(draw_window(false)), point = grown(draw_pointwise());
        layer_shape_t plane = grown(draw_window(true));
        plane.out_c = plane.in_c;
        const graph_layer_t conv = layer_of(OP_CONV2D, &window), pw = layer_of(OP_POINTWISE, &point),
                            dw = layer_of(OP_DEPTHWISE, &plane);
        CHECK(room(&conv, false) >= band_bytes(&window), "conv2d needs %llu", (unsigned long long)band_bytes(&window));
        CHECK(room(&pw, false) >= block_bytes(&point), "pointwise");
        CHECK(room(&dw, false) >= padded_plane(&plane) + TFLITE_SLACK, "depthwise");
        plane.out_h = 1;
        CHECK(room(&dw, true) >= padded_plane(&plane) + TFLITE_SLACK, "depthwise, a row");
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
        CHECK(of_conv.end - of_conv.scratch >= (uint64_t)TFLITE_PATCHES * graph_taps(&conv), "the gradient of conv2d");
        CHECK(of_dw.channels == dw.out_c && of_dw.errors >= 4ull * (graph_weight_count(&dw) + dw.out_c),
              "depthwise: all channels");
        const uint64_t inputs = inputs_of_phase(plane.out_h, plane.stride_h, plane.kernel_h) *
                                inputs_of_phase(plane.out_w, plane.stride_w, plane.kernel_w);
        CHECK(of_dw.end - of_dw.scratch >= inputs + TFLITE_SLACK + (uint64_t)plane.out_h * plane.out_w,
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
        CHECK(of_conv.end - of_conv.scratch >= 4ull * graph_taps(&conv), "the error of conv2d's input");
        const uint64_t errors = errors_of_phase(plane.in_h, plane.stride_h, plane.kernel_h) *
                                errors_of_phase(plane.in_w, plane.stride_w, plane.kernel_w);
        CHECK(of_dw.end - of_dw.scratch >= errors + TFLITE_SLACK + (uint64_t)plane.kernel_h * plane.kernel_w,
              "the error of depthwise's input");
    }
}

void test_graph_sizes(void) {
    check_input_errors();
    check_forward();
    check_gradients();
}
