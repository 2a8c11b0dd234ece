#include <stddef.h>

#include "arith/float32.h"
#include "arith/round_away.h"
#include "formats/w16a8.h"
#include "methods/forward_passes.h"
#include "methods/qzo_ff.h"

enum {
    LARGEST_Z = 127,
    Z_BITS = 5, /* z stands for z / 32 */
    GAUSSIAN_TOP = 92,
    BINOMIAL_TOP = 91,
};

#define LARGEST_QUOTIENT 0x1p23f /* of eps_q and rho_q */
#define Z_STEP 0x1p-5f

training_t qzo_training(const settings_t *settings_of_all, const graph_file_t *file) {
    const qzo_ff_settings_t *settings = (const void *)settings_of_all;
    training_t training = forward_training(file, settings->last_layers, 2 * qzo_directions(settings));
    training.biases = settings->train_bias != 0;
    return training;
}

static float unit_of(const graph_file_t *file, uint8_t l, bool weights) {
    const float scale = w16a8_parameters(file, l)->scale;
    return weights ? scale : graph_scale(file, graph_layer(file, l)->reads[0]) * scale;
}

/* How far a perturbation goes, with a scale of so many units. */
static int32_t reach(int32_t scale) {
    return round_away(LARGEST_Z * scale, Z_BITS);
}

/* A scale in units, LARGEST_QUOTIENT at most: qzo_check refuses more. */
static int32_t in_units(float scale, float unit) {
    const float quotient = scale / unit;
    return float32_to_integer(quotient < LARGEST_QUOTIENT ? quotient : LARGEST_QUOTIENT);
}

qzo_tensor_t qzo_units(const qzo_ff_settings_t *settings, const graph_file_t *file, uint8_t l, bool weights) {
    qzo_tensor_t tensor = {.layer = l, .unit = unit_of(file, l, weights)};
    tensor.largest = weights ? w16a8_parameters(file, l)->largest : QZO_LARGEST_BIAS;
    tensor.epsilon = in_units(settings->epsilon, tensor.unit);
    tensor.rho = in_units(settings->rho, tensor.unit);
    tensor.limit = tensor.largest - reach(tensor.epsilon) - reach(tensor.rho);
    return tensor;
}

qzo_tensor_t qzo_tensor(const model_t *model, uint8_t index) {
    const qzo_ff_settings_t *settings = qzo_settings(model);
    const trained_tensor_t trained = model_tensor(model, index);
    const uint8_t l = trained.layer;
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const bool weights = trained.kind == TENSOR_WEIGHTS;
    qzo_tensor_t tensor = qzo_units(settings, &model->file, l, weights);
    tensor.index = index;
    tensor.n = weights ? graph_weight_count(layer) : graph_channels(layer);
    tensor.weights = weights ? (int16_t *)(void *)trained.bytes : NULL;
    tensor.biases = weights ? NULL : (int32_t *)(void *)trained.bytes;
    tensor.behind = weights ? trained_biases(&model->training, layer) : 0;
    tensor.selection = (selection_t){.n = tensor.n, .gaps = qzo_keeps_gaps(settings)};
    if (settings->sparse != SPARSE_OFF && weights) {
        tensor.selection.code = (const uint8_t *)model_buffer(model, QZO_SELECTION, l);
    }
    if (settings->guide > 0) {
        tensor.guide = (int16_t *)(void *)model_buffer(model, QZO_GUIDE, l) + tensor.behind;
    }
    if (settings->optimizer == OPTIMIZER_ADAMW) {
        tensor.moments = (uint32_t *)(void *)model_buffer(model, QZO_MOMENTS, l);
    }
    return tensor;
}

/* (1 + cos(pi x)) / 2. */
static float cosine(float x) {
    static const float s[6] = {0x1p+0f,          -0x1.555556p-3f, 0x1.111112p-7f,
                               -0x1.a01a02p-13f, 0x1.71de3ap-19f, -0x1.ae6456p-26f};
    const float y = x - 0.5f;
    const float r = y * 0x1.921fb6p+1f;
    const float q = r * r;
    float p = s[5];
    for (int i = 4; i >= 0; i--) {
        const float product = p * q;
        p = product + s[i];
    }
    const float sine = r * p;
    const float half = 0.5f * sine;
    return 0.5f - half;
}

float qzo_rate(const qzo_ff_settings_t *settings, uint32_t step) {
    const uint32_t warmup = settings->warmup, steps = settings->steps;
    if (step < warmup) {
        const float share = (float)(step + 1) / (float)warmup;
        return settings->eta * share;
    }
    if (steps == 0) {
        return settings->eta;
    }
    if (step >= steps) {
        return settings->eta_min;
    }
    const float x = (float)(step - warmup) / (float)(steps - warmup);
    const float range = settings->eta - settings->eta_min;
    const float part = range * cosine(x);
    return settings->eta_min + part;
}

/* A trained tensor that is asked about; `directions`: for a step of so many. */
typedef struct {
    const qzo_ff_settings_t *settings;
    uint32_t directions;
    qzo_tensor_t tensor;
} asked_t;

typedef bool asks_t(const asked_t *asked);

/* Every trained tensor, until a function tells that one is as it asks for; whether one was. */
static bool any_tensor(const qzo_ff_settings_t *settings, const graph_file_t *file, uint32_t directions, asks_t *asks) {
    const training_t training = qzo_training((const void *)settings, file);
    for (uint8_t l = 0; l < file->layers; l++) {
        for (uint32_t biases = 0; in_set(training.layers, l) && biases <= training.biases; biases++) {
            asked_t asked = {
                .settings = settings, .directions = directions, .tensor = qzo_units(settings, file, l, biases == 0)};
            const graph_layer_t *layer = graph_layer(file, l);
            if (biases == 0) {
                asked.tensor.n = graph_weight_count(layer);
                asked.tensor.weights = (int16_t *)(uintptr_t)(const void *)graph_weights(file, layer); /* only read */
            }
            if (asks(&asked)) {
                return true;
            }
        }
    }
    return false;
}

static bool is_wide(const asked_t *asked) {
    return asked->tensor.weights != NULL && asked->tensor.largest != W16A8_NARROW;
}

static bool epsilon_is_too_large(const asked_t *asked) {
    const qzo_tensor_t *tensor = &asked->tensor;
    return asked->settings->epsilon / tensor->unit > LARGEST_QUOTIENT || reach(tensor->epsilon) > tensor->largest / 2;
}

/* With epsilon, which is not too large by itself. */
static bool rho_is_too_large(const asked_t *asked) {
    const qzo_tensor_t *tensor = &asked->tensor;
    return asked->settings->rho / tensor->unit > LARGEST_QUOTIENT ||
           reach(tensor->epsilon) + reach(tensor->rho) > tensor->largest / 2;
}

static bool epsilon_acts(const asked_t *asked) {
    return asked->tensor.epsilon > 0;
}

static bool rho_acts(const asked_t *asked) {
    return asked->tensor.rho > 0;
}

/* A large g of so many directions. */
static uint32_t large_gradient(const qzo_ff_settings_t *settings, uint32_t directions) {
    const uint32_t top = settings->distribution == DISTRIBUTION_GAUSSIAN ? GAUSSIAN_TOP : BINOMIAL_TOP;
    uint32_t g = top;
    while (directions * g * g > top * top) {
        g--;
    }
    return g;
}

static bool eta_acts(const asked_t *asked) {
    const qzo_ff_settings_t *settings = asked->settings;
    if (settings->optimizer == OPTIMIZER_ADAMW) {
        return settings->eta / asked->tensor.unit > 0.5f;
    }
    const float f = settings->eta * Z_STEP / asked->tensor.unit;
    return settings->normalise != 0 || rounded_step(large_gradient(settings, asked->directions), f) != 0;
}

static bool is_selected(const asked_t *asked) {
    const qzo_tensor_t *tensor = &asked->tensor;
    return tensor->weights != NULL && qzo_threshold_selects(asked->settings, tensor->unit, tensor->weights, tensor->n);
}

/* The setting that rounds to nothing in every trained tensor. */
static uint8_t check_still(const qzo_ff_settings_t *settings, const graph_file_t *file) {
    if (!any_tensor(settings, file, 0, epsilon_acts)) {
        return offsetof(qzo_ff_settings_t, epsilon);
    }
    if (qzo_is_sharp(settings) && !any_tensor(settings, file, 0, rho_acts)) {
        return offsetof(qzo_ff_settings_t, rho);
    }
    if (!any_tensor(settings, file, settings->directions, eta_acts)) {
        return any_tensor(settings, file, 1, eta_acts) ? offsetof(qzo_ff_settings_t, directions)
                                                       : offsetof(qzo_ff_settings_t, eta);
    }
    return METHOD_TAKES_ALL;
}

uint8_t qzo_check(const settings_t *settings_of_all, const graph_file_t *file) {
    const qzo_ff_settings_t *settings = (const void *)settings_of_all;
    if (settings->eta_min > settings->eta) {
        return offsetof(qzo_ff_settings_t, eta_min);
    }
    if (settings->steps > 0 && settings->steps <= settings->warmup) {
        return offsetof(qzo_ff_settings_t, steps);
    }
    if (any_tensor(settings, file, 0, epsilon_is_too_large)) {
        return offsetof(qzo_ff_settings_t, epsilon);
    }
    if (any_tensor(settings, file, 0, rho_is_too_large)) {
        return offsetof(qzo_ff_settings_t, rho);
    }
    if (settings->sparse == SPARSE_THRESHOLD && !any_tensor(settings, file, 0, is_selected)) {
        return offsetof(qzo_ff_settings_t, threshold);
    }
    /* That weights of 8 bits stay as they are is what they are for. */
    return any_tensor(settings, file, 0, is_wide) ? check_still(settings, file) : METHOD_TAKES_ALL;
}
