/* Passes over whole graphs beside the text of docs/arithmetic-tflite.md in 64-bit integers, layer by layer as a trace
   shows them; and files with damage that their digest hides. */
#include <string.h>

#include "check.h"
#include "graph_trainee.h"
#include "naive_tflite.h"

enum { ROUNDS = 150 };

typedef struct {
    const int8_t *in, *weights;
    int64_t zero, *acc;
} sums_t;

static void add_product(void *context, uint32_t weight, uint32_t input, uint32_t output) {
    const sums_t *sums = context;
    sums->acc[output] += sums->weights[weight] * (sums->in[input] - sums->zero);
}

static int64_t rescale(const graph_layer_t *layer, int64_t acc, int64_t multiplier, int64_t shift) {
    return (layer->rounding == ROUNDS_SINGLE ? naive_rescale_single : naive_rescale_double)(acc, multiplier, shift);
}

/* A fully connected layer is a convolution with a kernel of the size of its input. */
static layer_shape_t shape_of(const graph_layer_t *layer) {
    layer_shape_t shape = graph_shape(layer);
    if (layer->op == OP_FULLY_CONNECTED) {
        shape.kernel_h = (uint8_t)shape.in_h;
        shape.kernel_w = (uint8_t)shape.in_w;
        shape.stride_h = shape.stride_w = 1;
    }
    return shape;
}

static void weighted(const graph_file_t *file, const graph_layer_t *layer, const int8_t *in, int8_t *out) {
    const layer_shape_t shape = shape_of(layer);
    const graph_parameters_t own = graph_parameters(file, layer);
    const graph_output_t *output = graph_output(file, layer);
    const uint32_t n = graph_outputs(layer);
    int64_t *acc = calloc(n, sizeof *acc);
    CHECK(acc != NULL, "no memory");
    const sums_t sums = {
        .in = in, .weights = graph_weights(file, layer), .zero = graph_zero(file, layer->reads[0]), .acc = acc};
    naive_products(&shape, layer->op == OP_DEPTHWISE, add_product, (void *)(uintptr_t)&sums);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t o = i % layer->out_c;
        const int64_t value = rescale(layer, acc[i] + own.bias[o], own.multiplier[o], own.shift[o]);
        out[i] = (int8_t)naive_clamp(value + output->zero, output->act_min, output->act_max);
    }
    free(acc);
}

static void added(const graph_file_t *file, const graph_layer_t *layer, const int8_t *a, const int8_t *b, int8_t *out) {
    const graph_output_t *output = graph_output(file, layer);
    const graph_factors_t *factors = graph_factors(file, layer);
    const int64_t zero_a = graph_zero(file, layer->reads[0]), zero_b = graph_zero(file, layer->reads[1]),
                  unit = 1 << 20;
    for (uint32_t i = 0; i < graph_outputs(layer); i++) {
        const int64_t s = rescale(layer, (a[i] - zero_a) * unit, factors->multiplier[0], factors->shift[0]) +
                          rescale(layer, (b[i] - zero_b) * unit, factors->multiplier[1], factors->shift[1]);
        const int64_t value = rescale(layer, s, factors->multiplier[2], factors->shift[2]);
        out[i] = (int8_t)naive_clamp(value + output->zero, output->act_min, output->act_max);
    }
}

static void averaged(const graph_file_t *file, const graph_layer_t *layer, const int8_t *in, int8_t *out) {
    const graph_output_t *output = graph_output(file, layer);
    const graph_mean_t *mean = graph_mean(file, layer);
    for (uint32_t c = 0; c < layer->out_c; c++) {
        int64_t acc = 0;
        for (uint32_t y = 0; y < layer->in_h; y++) {
            for (uint32_t x = 0; x < layer->in_w; x++) {
                acc += in[(y * layer->in_w + x) * layer->in_c + c] - graph_zero(file, layer->reads[0]);
            }
        }
        const int64_t value = output->zero + rescale(layer, acc, mean->multiplier, mean->shift);
        out[c] = (int8_t)naive_clamp(value, output->act_min, output->act_max);
    }
}

static void looked_up(const graph_file_t *file, const graph_layer_t *layer, const int8_t *in, int8_t *out) {
    const uint8_t *table = file->bytes + layer->parameters_offset + 8;
    for (uint32_t i = 0; i < graph_outputs(layer); i++) {
        out[i] = (int8_t)table[in[i] + 128];
    }
}

static void run_layer(const graph_file_t *file, uint8_t l, int8_t *const *values) {
    const graph_layer_t *layer = graph_layer(file, l);
    const layer_shape_t shape = graph_shape(layer);
    const graph_output_t *output = graph_output(file, layer);
    const int8_t *in = values[layer->reads[0]];
    int8_t *out = values[l + 1];
    switch (layer->op) {
    case OP_MAX_POOL: naive_tflite_max_pool(in, &shape, output->act_min, output->act_max, out); break;
    case OP_AVERAGE_POOL: naive_tflite_average_pool(in, &shape, output->act_min, output->act_max, out); break;
    case OP_ADD: added(file, layer, in, values[layer->reads[1]], out); break;
    case OP_MEAN: averaged(file, layer, in, out); break;
    case OP_TABLE: looked_up(file, layer, in, out); break;
    default: weighted(file, layer, in, out);
    }
}

/* Every stage of a trace of the sample in slot 0. */
static void check_stages(graph_trainee_t *trainee, int8_t *const *values) {
    const model_t *model = &trainee->engine->model;
    for (uint8_t l = 0; l < model->file.layers; l++) {
        const uint32_t n = is_joined_behind(&model->training, l) ? 0 : graph_outputs(graph_layer(&model->file, l));
        uint32_t length = n + 3;
        uint8_t *seen = take(length);
        if (model->training.consumed) {
            graph_trainee_fill(trainee, 0, 1);
        }
        CHECK(engine_trace(trainee->engine, 0, l, 0, seen, &length).code == 0, "a trace");
        CHECK(length == n + 2 && seen[n] == 0 && seen[n + 1] == 0, "stage %u has %u bytes, not %u", l, length, n + 2);
        check_s8((const int8_t *)seen, values[l + 1], n, "a stage");
        free(seen);
    }
}

static void check_graph(const graph_made_t *made, const tflite8_settings_t *settings, bool flash) {
    graph_trainee_t trainee = graph_trainee_new(made, settings, flash);
    graph_file_t file;
    int8_t *values[GRAPH_MAX_LAYERS + 1];
    CHECK(graph_file_open(&file, made->bytes, made->size).code == 0, "the file");
    for (uint8_t value = 0; value <= file.layers; value++) {
        values[value] = take(graph_elements(&file, value));
    }
    graph_trainee_fill(&trainee, 0, 1);
    memcpy(values[0], model_sample(&trainee.engine->model, 0), graph_elements(&file, 0));
    for (uint8_t l = 0; l < file.layers; l++) {
        run_layer(&file, l, values);
    }
    check_stages(&trainee, values);
    for (uint8_t value = 0; value <= file.layers; value++) {
        free(values[value]);
    }
    graph_trainee_free(&trainee);
}

static void test_against_the_text(void) {
    for (int round = 0; round < ROUNDS; round++) {
        graph_made_t made;
        tflite8_settings_t settings = trainee_settings();
        settings.train = draw(0, 1) == 0 ? TRAIN_ALL : TRAIN_LAST;
        settings.perturb = (uint8_t)draw(PERTURB_WEIGHT, PERTURB_ADAPTIVE);
        settings.consumed = (uint8_t)draw(0, 1);
        settings.fused = (uint8_t)draw(0, 1);
        if (round % 5 == 0) {
            made_small(&made);
        } else if (round % 5 == 1) {
            made_with_mean(&made);
        } else {
            made_random(&made);
        }
        check_graph(&made, &settings, draw(0, 1) == 1);
        made_free(&made);
    }
}

/* Damage behind a right digest is refused, or it is another network that does no harm. */
static void test_damage(void) {
    uint32_t refused = 0, taken = 0;
    for (int round = 0; round < 4000; round++) {
        graph_made_t made;
        graph_file_t file;
        if (round % 2 == 0) {
            made_small(&made);
        } else {
            made_random(&made);
        }
        const uint32_t records = (uint32_t)(sizeof(graph_header_t) + made.header.layers * sizeof(graph_layer_t));
        for (int32_t changes = draw(1, 3); changes > 0; changes--) {
            made.bytes[draw(16, (int32_t)(draw(0, 2) > 0 ? made.size : records) - 1)] ^= (uint8_t)(1u << draw(0, 7));
        }
        made_seal(&made);
        const failure_t failure = graph_file_open(&file, made.bytes, made.size);
        tflite8_settings_t settings = trainee_settings();
        settings.consumed = (uint8_t)draw(0, 1);
        settings.fused = (uint8_t)draw(0, 1);
        if (failure.code != 0) {
            refused++;
        } else if (tflite8_check((const settings_t *)(const void *)&settings, &file, NULL, 0) == METHOD_TAKES_ALL) {
            graph_trainee_t trainee = graph_trainee_new(&made, &settings, true);
            step_result_t result;
            (void)graph_trainee_step(&trainee, 0, 1, 1, &result);
            graph_trainee_free(&trainee);
            taken++;
        }
        made_free(&made);
    }
    CHECK(refused > 1000 && taken > 200, "%u refused, %u taken: both kinds are to be seen", refused, taken);
}

void test_graph_forward(void) {
    test_against_the_text();
    test_damage();
}
