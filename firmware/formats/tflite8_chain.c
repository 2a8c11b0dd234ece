/* Two or three layers row by row: docs/memory.md, groups and starts. */
#include <string.h>

#include "formats/tflite8.h"
#include "formats/tflite8_sizes.h"
#include "kernels/convolution.h"

/* The rows under the window of one row of outputs of the depthwise layer, one after the other, with the padding on both
   sides. */
typedef struct {
    layer_args_t first, second;
    const int8_t *in; /* of the first */
    int8_t *ring;
    layer_shape_t window; /* the ring as an image of its own */
    uint32_t row;         /* bytes from row to row */
    uint32_t before;      /* padding to the left, in bytes */
} chain_t;

/* A pointwise layer for one row. */
static void run_row(const layer_args_t *args, const int8_t *in, int8_t *out) {
    layer_shape_t row = args->shape;
    row.in_h = row.out_h = 1;
    tflite_pointwise_s8(in, args->weights, &row, &args->factors, args->scratch, out);
}

/* Make row `y` of the first layer's output, which is padding where that is outside of the image. */
static void make_row(const chain_t *chain, int32_t y, int8_t *to) {
    const layer_args_t *args = &chain->first;
    if (y < 0 || y >= args->shape.out_h) {
        memset(to, chain->second.factors.input_zero, chain->row);
    } else if (args->layer->op == OP_CONV2D) {
        tflite_conv2d_rows_s8(chain->in, args->weights, &args->shape, &args->factors, (uint32_t)y, 1, args->scratch,
                              to + chain->before);
    } else {
        run_row(args, chain->in + (uint32_t)y * args->shape.in_w * args->shape.in_c, to + chain->before);
    }
}

/* Keep the rows that the next window sees too, and make the others. The first window keeps none. */
static void advance(const chain_t *chain, uint32_t y) {
    const uint32_t kernel = chain->window.kernel_h, stride = chain->window.stride_h;
    const uint32_t kept = y > 0 && stride < kernel ? kernel - stride : 0;
    const int32_t top = (int32_t)(y * stride) - chain->second.shape.padding_h;
    memmove(chain->ring, chain->ring + (kernel - kept) * chain->row, kept * chain->row);
    for (uint32_t i = kept; i < kernel; i++) {
        make_row(chain, top + (int32_t)i, chain->ring + i * chain->row);
    }
}

/* One row of outputs of the depthwise layer, whose padding is in place. */
static layer_shape_t window_of(const layer_args_t *args) {
    layer_shape_t window = args->shape;
    window.in_h = window.kernel_h;
    window.in_w = (uint16_t)ring_width(args->layer);
    window.out_h = 1;
    window.padding_h = window.padding_w = 0;
    return window;
}

static chain_t begin_chain(const model_t *model, const pass_t *pass, uint8_t l, const work_layout_t *layout) {
    chain_t chain = {.first = tflite8_layer_args(model, pass, l),
                     .second = tflite8_layer_args(model, pass, (uint8_t)(l + 1))};
    chain.in = pass_value(model, pass, chain.first.layer->reads[0]);
    chain.ring = chain.second.work + layout->ring;
    chain.window = window_of(&chain.second);
    chain.row = (uint32_t)chain.window.in_w * chain.window.in_c;
    chain.before = (uint32_t)chain.second.shape.padding_w * chain.window.in_c;
    memset(chain.ring, chain.second.factors.input_zero, chain.window.kernel_h * chain.row);
    return chain;
}

/* Make row `y` of the depthwise layer's output. */
static void run_second(model_t *model, const chain_t *chain, uint8_t l, uint32_t y, int8_t *out) {
    const layer_args_t *second = &chain->second;
    advance(chain, y);
    stopwatch_book(&model->watch, &model->account.forward[l]);
    tflite_depthwise_s8(chain->ring, second->weights, &chain->window, &second->factors, second->scratch, out);
    stopwatch_book(&model->watch, &model->account.forward[l + 1]);
}

void tflite8_run_chain(model_t *model, const pass_t *pass, uint8_t l) {
    const uint8_t second = (uint8_t)(l + 1), third = (uint8_t)(l + 2);
    const bool three = is_joined_behind(&model->training, second);
    const work_layout_t layout =
        work_layout(graph_layer(&model->file, second), (chained_t){.has_ring = true, .has_row = three});
    const chain_t chain = begin_chain(model, pass, l, &layout);
    const layer_args_t last = three ? tflite8_layer_args(model, pass, third) : chain.second;
    int8_t *out = model_buffer(model, PLAN_VALUE, (uint8_t)(three ? l + 3 : third));
    for (uint32_t y = 0; y < last.shape.out_h; y++) {
        int8_t *row = three ? chain.second.work + layout.row : out;
        run_second(model, &chain, l, y, row);
        if (three) {
            run_row(&last, row, out);
            stopwatch_book(&model->watch, &model->account.forward[third]);
        }
        out += (uint32_t)last.shape.out_w * last.shape.out_c;
    }
}
