/* What the settings of FQT train, and what is refused: docs/arithmetic-fqt.md, sections 2 and 9. */
#include "methods/fqt.h"

#define MOST_SQUARES 0x100000000ull /* P * P * K: beyond it S2 could leave 64 bits */

/* Whether a layer is one that could be trained. */
static bool is_trainable(const graph_layer_t *layer) {
    return graph_has_weights(layer) && layer->format != FORMAT_TFLITE8;
}

/* t; the number of layers where there is nothing to train. */
static uint8_t first_trained(const fqt_settings_t *settings, const graph_file_t *file) {
    uint8_t first = file->layers, left = settings->last_layers;
    for (uint8_t l = file->layers; l-- > 0 && left > 0;) {
        if (is_trainable(graph_layer(file, l))) {
            first = l;
            left--;
        }
    }
    return first;
}

training_t fqt_training(const settings_t *settings_of_all, const graph_file_t *file) {
    const fqt_settings_t *settings = (const void *)settings_of_all;
    training_t training = {.weights = true,
                           .biases = settings->train_bias != 0,
                           .starts = 1,
                           .passes = 1,
                           .first_backward = first_trained(settings, file)};
    for (uint8_t l = training.first_backward; l < file->layers; l++) {
        const graph_layer_t *layer = graph_layer(file, l);
        training.layers |= (uint64_t)(graph_has_weights(layer) || affine8_has_range(layer)) << l;
    }
    training.reached = reached_layers(file, &training);
    return training;
}

/* Whether a trained layer is in a format that is trained, and its statistics stay within 64 bits. */
static bool may_be_trained(const graph_layer_t *layer) {
    const uint64_t positions = (uint64_t)layer->out_h * layer->out_w;
    const bool sums = graph_has_weights(layer) && layer->format == FORMAT_AFFINE8;
    return layer->format != FORMAT_TFLITE8 && !(sums && positions * positions * graph_taps(layer) > MOST_SQUARES);
}

uint8_t fqt_check(const settings_t *settings_of_all, const graph_file_t *file) {
    const fqt_settings_t *settings = (const void *)settings_of_all;
    const uint8_t first = first_trained(settings, file);
    bool trains = first < file->layers;
    for (uint8_t l = first; l < file->layers; l++) {
        trains = trains && may_be_trained(graph_layer(file, l));
    }
    if (!trains) {
        return offsetof(fqt_settings_t, last_layers);
    }
    if (settings->lambda_max < settings->lambda_min) {
        return offsetof(fqt_settings_t, lambda_max);
    }
    const training_t training = {.first_backward = first};
    return layers_pass_errors(file, &training) ? METHOD_TAKES_ALL : offsetof(fqt_settings_t, last_layers);
}
