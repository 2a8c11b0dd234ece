/* The format fixed16: int16 values and weights with fixed exponents (docs/arithmetic-fixed16.md). */
#include <string.h>

#include "arith/float32.h"
#include "arith/psto_shift.h"
#include "engine/format.h"
#include "graph/checks.h"
#include "kernels/losses.h"
#include "kernels/noise.h"

#define INPUT_SCALE 0x1p-12f

enum {
    FORMAT_FIXED16 = 6, /* in a network file: `Format` of hil/training/graph/graph.py */
    ACTIVATION = -12,   /* exponents */
    ERROR = -14,
    LEAST_EXPONENT = -40,
    MOST_EXPONENT = -1,
    LARGEST = 32767,
    LARGEST_WEIGHT = 32512,
    PIXEL = 16,
    GRADIENT_SHIFT = 12,
    LOGIT_ERROR = 128,
    Z = 256, /* steps of a weight that z and u stand for */
    U = 64,
    MOST_CLASSES = 256,
};

/* Round(x, s), s >= 1. */
static int64_t rounded(int64_t x, int32_t s) {
    const uint64_t size = x < 0 ? (uint64_t)-x : (uint64_t)x;
    const int64_t result = (int64_t)((size + (UINT64_C(1) << (s - 1))) >> s);
    return x < 0 ? -result : result;
}

static int64_t clip_wide(int64_t x, int64_t limit) {
    return x > limit ? limit : x < -limit ? -limit : x;
}

/* What a layer with weights makes of the sum of products of an output, or of an input's error. */
static int16_t narrow(const graph_layer_t *layer, int64_t sum) {
    return (int16_t)clip_wide(rounded(sum, -layer->weight_exponent), LARGEST);
}

static int16_t *shorts(const int8_t *bytes) {
    return (int16_t *)(uintptr_t)bytes;
}

static int16_t *buffer(const model_t *model, enum plan_line line, uint8_t i) {
    return shorts(model_buffer(model, line, i));
}

/* An index along an axis of a convolution's other side, stride 1; whether it is inside. */
static bool inside(int32_t at, uint32_t size) {
    return at >= 0 && at < (int32_t)size;
}

static int64_t sum_of_output(const graph_layer_t *layer, const int16_t *in, const int16_t *weights, int32_t y,
                             int32_t x) {
    int64_t sum = 0;
    for (int32_t ky = 0; ky < layer->kernel_h; ky++) {
        for (int32_t kx = 0; kx < layer->kernel_w; kx++, weights += layer->in_c) {
            const int32_t iy = y + ky - layer->padding_h, ix = x + kx - layer->padding_w;
            for (uint32_t c = 0; inside(iy, layer->in_h) && inside(ix, layer->in_w) && c < layer->in_c; c++) {
                sum += (int64_t)weights[c] * in[((uint32_t)iy * layer->in_w + (uint32_t)ix) * layer->in_c + c];
            }
        }
    }
    return sum;
}

static void convolve(const graph_layer_t *layer, const int16_t *in, const int16_t *weights, int16_t *out) {
    for (int32_t y = 0; y < layer->out_h; y++) {
        for (int32_t x = 0; x < layer->out_w; x++) {
            for (uint32_t o = 0; o < layer->out_c; o++) {
                *out++ = narrow(layer, sum_of_output(layer, in, weights + o * graph_taps(layer), y, x));
            }
        }
    }
}

static void connect(const graph_layer_t *layer, const int16_t *in, const int16_t *weights, int16_t *out) {
    for (uint32_t o = 0; o < graph_outputs(layer); o++) {
        int64_t sum = 0;
        for (uint32_t i = 0; i < graph_inputs(layer); i++) {
            sum += (int64_t)*weights++ * in[i];
        }
        out[o] = narrow(layer, sum);
    }
}

/* Where the first maximum of a window is, in row-major order: output (y, x), channel c. */
static uint32_t maximum_of(const graph_layer_t *layer, const int16_t *in, uint32_t y, uint32_t x, uint32_t c) {
    const uint32_t k = layer->stride_h;
    uint32_t best = (y * k * layer->in_w + x * k) * layer->in_c + c;
    for (uint32_t i = 0; i < k * k; i++) {
        const uint32_t at = ((y * k + i / k) * layer->in_w + x * k + i % k) * layer->in_c + c;
        best = in[at] > in[best] ? at : best;
    }
    return best;
}

/* Pool the outputs of a sample; or give each error to the first maximum of its window. */
static void pool(const graph_layer_t *layer, const int16_t *in, int16_t *out, const int16_t *error, int16_t *back) {
    uint32_t i = 0;
    for (uint32_t y = 0; y < layer->out_h; y++) {
        for (uint32_t x = 0; x < layer->out_w; x++) {
            for (uint32_t c = 0; c < layer->out_c; c++, i++) {
                const uint32_t at = maximum_of(layer, in, y, x, c);
                if (error == NULL) {
                    out[i] = in[at];
                } else {
                    back[at] = error[i];
                }
            }
        }
    }
}

static void run(model_t *model, const pass_t *pass, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const uint32_t inputs = graph_inputs(layer), outputs = graph_outputs(layer);
    const int16_t *weights = graph_has_weights(layer) ? shorts(model_weights(model, l)) : NULL;
    const int16_t *in = shorts(pass_value(model, pass, l));
    int16_t *out = buffer(model, PLAN_VALUE, (uint8_t)(l + 1));
    for (uint16_t b = 0; b < pass->count; b++, in += inputs, out += outputs) {
        switch (layer->op) {
        case OP_CONV2D: convolve(layer, in, weights, out); break;
        case OP_FULLY_CONNECTED: connect(layer, in, weights, out); break;
        case OP_MAX_POOL: pool(layer, in, out, NULL, NULL); break;
        default: /* a relu, `out` is `in` */
            for (uint32_t i = 0; i < outputs; i++) {
                out[i] = out[i] > 0 ? out[i] : 0;
            }
        }
    }
    model->exponent[l + 1] = ACTIVATION;
}

static void load(int8_t *values, const uint8_t *pixels, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        shorts(values)[i] = (int16_t)(pixels[i] * PIXEL);
    }
}

static uint32_t predicted(const int8_t *logits, uint32_t n) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++) {
        best = shorts(logits)[i] > shorts(logits)[best] ? i : best;
    }
    return best;
}

static float loss(const model_t *model, const int8_t *logits, uint32_t label) {
    const uint32_t n = model_classes(model);
    const int16_t *a = shorts(logits);
    const int32_t largest = a[predicted(logits, n)];
    const float scale = float32_power_of_two(ACTIVATION);
    float sum = 0.0f;
    for (uint32_t j = 0; j < n; j++) {
        const float x = (float)(a[j] - largest) * scale;
        sum = sum + exp32(x);
    }
    const float margin = (float)(largest - a[label]) * scale;
    return log32(sum) + margin;
}

/* The error of the logits of a sample. */
static void error_of_logits(const model_t *model, uint16_t member, uint8_t label, bool zero_sum, int16_t *error) {
    const uint32_t n = model_classes(model);
    const int16_t *logits = shorts(model_logits(model, member));
    int8_t narrowed[MOST_CLASSES] = {0}, found[MOST_CLASSES];
    uint32_t most = 0;
    for (uint32_t j = 0; j < n; j++) {
        most = magnitude(logits[j]) > most ? magnitude(logits[j]) : most;
    }
    const int32_t t = bits(most) > 7 ? bits(most) - 7 : 0;
    for (uint32_t j = 0; j < n; j++) {
        narrowed[j] = (int8_t)(t == 0 ? logits[j] : clip_wide(rounded(logits[j], t), 127));
    }
    softmax_error_s8(narrowed, n, ACTIVATION + t, label, zero_sum, found);
    for (uint32_t j = 0; j < n; j++) {
        error[j] = (int16_t)(found[j] * LOGIT_ERROR);
    }
}

static int32_t *gradient_of(const model_t *model, uint8_t l) {
    return model_words(model, PLAN_GRADIENT, l);
}

static void backward_begin(const model_t *model) {
    for (uint8_t l = model->training.first_backward; l < model->file.layers; l++) {
        const graph_layer_t *layer = graph_layer(&model->file, l);
        if (graph_has_weights(layer)) {
            memset(gradient_of(model, l), 0, graph_weight_count(layer) * sizeof(int32_t));
        }
    }
}

/* The sum of error * input behind the gradient of a weight of a convolution. */
static int64_t sum_of_gradient(const graph_layer_t *layer, const int16_t *in, const int16_t *error, uint32_t weight) {
    const uint32_t o = weight / graph_taps(layer), tap = weight % graph_taps(layer) / layer->in_c;
    const int32_t dy = (int32_t)(tap / layer->kernel_w) - layer->padding_h;
    const int32_t dx = (int32_t)(tap % layer->kernel_w) - layer->padding_w;
    int64_t sum = 0;
    for (int32_t y = 0; y < layer->out_h; y++) {
        for (int32_t x = 0; x < layer->out_w; x++) {
            if (inside(y + dy, layer->in_h) && inside(x + dx, layer->in_w)) {
                const uint32_t at = (uint32_t)(y + dy) * layer->in_w + (uint32_t)(x + dx);
                sum += (int64_t)error[((uint32_t)y * layer->out_w + (uint32_t)x) * layer->out_c + o] *
                       in[at * layer->in_c + weight % layer->in_c];
            }
        }
    }
    return sum;
}

static void add_gradient(const model_t *model, uint8_t l, const int16_t *in, const int16_t *error) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    int32_t *gradient = gradient_of(model, l);
    for (uint32_t i = 0; i < graph_weight_count(layer); i++) {
        const int64_t sum = layer->op == OP_CONV2D ? sum_of_gradient(layer, in, error, i)
                                                   : (int64_t)error[i / graph_taps(layer)] * in[i % graph_taps(layer)];
        const int64_t added = gradient[i] + rounded(sum, GRADIENT_SHIFT);
        gradient[i] = (int32_t)(added > INT32_MAX ? INT32_MAX : added < INT32_MIN ? INT32_MIN : added);
    }
}

static int64_t sum_of_error(const graph_layer_t *layer, const int16_t *error, const int16_t *weights, uint32_t input) {
    const uint32_t c = input % layer->in_c, at = input / layer->in_c;
    int64_t sum = 0;
    if (layer->op == OP_FULLY_CONNECTED) {
        for (uint32_t o = 0; o < layer->out_c; o++) {
            sum += (int64_t)weights[o * graph_taps(layer) + input] * error[o];
        }
        return sum;
    }
    for (uint32_t tap = 0; tap < (uint32_t)layer->kernel_h * layer->kernel_w; tap++) {
        const int32_t y = (int32_t)(at / layer->in_w) + layer->padding_h - (int32_t)(tap / layer->kernel_w);
        const int32_t x = (int32_t)(at % layer->in_w) + layer->padding_w - (int32_t)(tap % layer->kernel_w);
        for (uint32_t o = 0; inside(y, layer->out_h) && inside(x, layer->out_w) && o < layer->out_c; o++) {
            sum += (int64_t)weights[o * graph_taps(layer) + tap * layer->in_c + c] *
                   error[((uint32_t)y * layer->out_w + (uint32_t)x) * layer->out_c + o];
        }
    }
    return sum;
}

/* Turn the error of a layer's outputs, one sample, into that of its inputs. A relu works in place. */
static void propagate(const model_t *model, uint8_t l, const int16_t *in, const int16_t *out, int16_t *error,
                      int16_t *back) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    if (layer->op == OP_RELU) {
        for (uint32_t i = 0; i < graph_outputs(layer); i++) {
            error[i] = out[i] > 0 ? error[i] : 0;
        }
    } else if (layer->op == OP_MAX_POOL) {
        memset(back, 0, graph_inputs(layer) * sizeof *back);
        pool(layer, in, NULL, error, back);
    } else {
        for (uint32_t i = 0; i < graph_inputs(layer); i++) {
            back[i] = narrow(layer, sum_of_error(layer, error, shorts(model_weights(model, l)), i));
        }
    }
}

static void backward_layer(model_t *model, const pass_t *pass, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const uint32_t inputs = graph_inputs(layer), outputs = graph_outputs(layer);
    const int16_t *in = shorts(pass_value(model, pass, l)), *out = buffer(model, PLAN_VALUE, (uint8_t)(l + 1));
    const bool goes_on = l > model->training.first_backward;
    int16_t *error = buffer(model, PLAN_ERROR, (uint8_t)(l + 1)), *back = goes_on ? buffer(model, PLAN_ERROR, l) : NULL;
    for (uint32_t b = 0; b < pass->count; b++) {
        if (graph_has_weights(layer)) {
            add_gradient(model, l, in + b * inputs, error + b * outputs);
        }
        if (goes_on) {
            propagate(model, l, in + b * inputs, out + b * outputs, error + b * outputs, back + b * inputs);
        }
    }
    if (goes_on) {
        observe(model->observer, (int8_t *)back, inputs * (uint32_t)sizeof *back, ERROR);
    }
    stopwatch_book(&model->watch, &model->account.backward[l]);
}

static void backward(model_t *model, const pass_t *pass, const uint8_t *labels, bool first, bool zero_sum) {
    const uint32_t classes = model_classes(model);
    int16_t *error = buffer(model, PLAN_ERROR, model->file.layers);
    (void)first; /* the exponent of a gradient is fixed */
    for (uint16_t b = 0; b < pass->count; b++) {
        error_of_logits(model, b, labels[b], zero_sum, error + b * classes);
    }
    observe(model->observer, (int8_t *)error, classes * (uint32_t)sizeof *error, ERROR);
    for (uint8_t l = model->file.layers; l-- > model->training.first_backward;) {
        backward_layer(model, pass, l);
    }
}

static void update_layer(int16_t *weights, const int32_t *gradient, uint32_t n, int32_t b_bp) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < n; i++) {
        most = magnitude(gradient[i]) > most ? magnitude(gradient[i]) : most;
    }
    const int32_t s = bits(most) - b_bp;
    for (uint32_t i = 0; most > 0 && i < n; i++) {
        const int64_t u = s < 1 ? gradient[i] : psto_shift(gradient[i], s);
        weights[i] = (int16_t)clip_wide(weights[i] - U * u, LARGEST_WEIGHT);
    }
}

static void update(const model_t *model, int32_t b_bp) {
    for (uint8_t l = model->training.first_backward; l < model->file.layers; l++) {
        const graph_layer_t *layer = graph_layer(&model->file, l);
        if (graph_has_weights(layer)) {
            update_layer(shorts(model_weights(model, l)), gradient_of(model, l), graph_weight_count(layer), b_bp);
        }
    }
}

/* The moves of the pool, in steps of z and of u; an update first takes the perturbation back. */
typedef struct {
    int16_t z[NOISE_ENTRIES][4], u[NOISE_ENTRIES][4];
} table_t;

_Static_assert(sizeof(table_t) <= MOVES_WORDS * sizeof(uint32_t), "the table fits the words");

static void to_perturb(moves_t *moves, noise_t noise, int32_t k, uint8_t limit) {
    table_t *table = (void *)moves->words;
    for (uint32_t e = 0; e < NOISE_ENTRIES; e++) {
        const noise_words_t words = noise_next(&noise);
        for (uint32_t i = 0; i < 4; i++) {
            table->z[e][i] = (int16_t)(k * noise_of(&noise, words, i));
            table->u[e][i] = 0;
        }
    }
    (void)limit; /* the weights at rest are within it */
    moves->limit = LARGEST_WEIGHT / Z;
}

static void to_update(moves_t *moves, noise_t noise, int32_t sign, int32_t b_zo, uint8_t limit) {
    table_t *table = (void *)moves->words;
    zo_update_t updates;
    zo_update_fill(&updates, noise.r_max, sign, b_zo);
    for (uint32_t e = 0; e < NOISE_ENTRIES; e++) {
        const noise_words_t words = noise_next(&noise);
        for (uint32_t i = 0; i < 4; i++) {
            table->z[e][i] = (int16_t)noise_of(&noise, words, i);
            table->u[e][i] = (int16_t)zo_update_of(&updates, table->z[e][i]);
        }
    }
    moves->limit = limit;
}

static void move(int8_t *bytes, uint32_t n, uint32_t state, const moves_t *moves) {
    const table_t *table = (const void *)moves->words;
    const int64_t limit = Z * (int64_t)moves->limit;
    int16_t *weights = shorts(bytes);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t group = i / 4 % NOISE_GROUPS;
        if (i % (4 * NOISE_GROUPS) == 0) {
            state = xorshift32(state);
        }
        const uint32_t field = noise_field(state, group), e = field % NOISE_ENTRIES;
        const int32_t sign = field < NOISE_ENTRIES ? 1 : -1;
        const int64_t moved = clip_wide(weights[i] + sign * Z * table->z[e][i % 4], limit);
        weights[i] = (int16_t)clip_wide(moved + sign * U * table->u[e][i % 4], limit);
    }
}

static void limit_weights(int8_t *weights, uint32_t n, int32_t limit) {
    for (uint32_t i = 0; i < n; i++) {
        shorts(weights)[i] = (int16_t)clip_wide(shorts(weights)[i], Z * limit);
    }
}

static bool exponents_are_allowed(const candidate_t *candidate) {
    const graph_header_t *header = graph_header(candidate->file);
    const int8_t exponent = candidate->layer->weight_exponent;
    const bool fits = exponent >= LEAST_EXPONENT && exponent <= MOST_EXPONENT;
    return header->scale == INPUT_SCALE && header->zero == 0 && (fits || !graph_has_weights(candidate->layer));
}

static bool weights_are_allowed(const candidate_t *candidate) {
    const int16_t *weights = shorts(graph_weights(candidate->file, candidate->layer));
    bool allowed = true;
    for (uint32_t i = 0; i < graph_weight_count(candidate->layer); i++) {
        allowed = allowed && magnitude(weights[i]) <= LARGEST_WEIGHT;
    }
    return allowed;
}

const format_checks_t fixed16_checks = {
    .number = FORMAT_FIXED16,
    .weight_bytes = sizeof(int16_t),
    .value_bytes = sizeof(int16_t),
    .most_classes = 256,
    .has_exponents = true,
    .check =
        {
            [CHECK_FORMAT] = chain_is_taken,
            [CHECK_ZERO] = weights_are_padded,
            [CHECK_SCALE] = exponents_are_allowed,
            [CHECK_SUMS] = chain_sums_fit,
            [CHECK_WEIGHT] = weights_are_allowed,
        },
};

static const chain_training_t chain = {
    .limit = limit_weights,
    .to_perturb = to_perturb,
    .to_update = to_update,
    .move = move,
    .backward_begin = backward_begin,
    .backward = backward,
    .update = update,
};

const format_t fixed16 = {
    .number = FORMAT_FIXED16,
    .input_exponent = ACTIVATION,
    .label_bytes = sizeof(uint8_t),
    .trains_all = true,
    .load = load,
    .run = run,
    .loss = loss,
    .predicted = predicted,
    .chain = &chain,
};
