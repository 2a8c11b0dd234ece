#include <stddef.h>

#include "arith/float32.h"
#include "formats/w16a8.h"
#include "methods/forward_passes.h"
#include "methods/quzo.h"

enum { LARGEST_S8 = 127 };

#define STEPS 2048.0f /* 2^16 / 32: z stands for z / 32 */

training_t quzo_training(const settings_t *settings_of_all, const graph_file_t *file) {
    const quzo_settings_t *settings = (const void *)settings_of_all;
    return forward_training(file, settings->last_layers, 2u * settings->directions);
}

quzo_units_t quzo_units(const graph_file_t *file, uint8_t l) {
    const graph_layer_t *layer = graph_layer(file, l);
    if (layer->format == FORMAT_TFLITE8) {
        return (quzo_units_t){
            .unit = graph_parameters(file, layer).scale, .count = graph_channels(layer), .largest = LARGEST_S8};
    }
    const w16a8_parameters_t *parameters = w16a8_parameters(file, l);
    return (quzo_units_t){.unit = &parameters->scale, .count = 1, .largest = parameters->largest};
}

int32_t quzo_scale(float epsilon, float unit) {
    const float quotient = epsilon / unit;
    const float scale = quotient * STEPS;
    return scale < (float)STOCHASTIC_LARGEST ? float32_to_integer(scale) : STOCHASTIC_LARGEST;
}

/* A perturbation must not go beyond half of the range of a trained tensor, and must move one. A network ends with a
   fully connected layer, so there is something to train. */
uint8_t quzo_check(const settings_t *settings_of_all, const graph_file_t *file) {
    const quzo_settings_t *settings = (const void *)settings_of_all;
    const uint64_t layers = quzo_training(settings_of_all, file).layers;
    bool moves = false;
    for (uint8_t l = 0; l < file->layers; l++) {
        const quzo_units_t units = in_set(layers, l) ? quzo_units(file, l) : (quzo_units_t){.count = 0};
        for (uint32_t i = 0; i < units.count; i++) {
            const int32_t scale = quzo_scale(settings->epsilon, units.unit[i]);
            if (stochastic_reach(scale) > units.largest / 2) {
                return offsetof(quzo_settings_t, epsilon);
            }
            moves = moves || scale > 0;
        }
    }
    return moves ? METHOD_TAKES_ALL : offsetof(quzo_settings_t, epsilon);
}
