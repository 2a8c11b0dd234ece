/* The formats of a network's layers. */
#include <stddef.h>

#include "engine/format.h"

const format_t *model_format(const model_t *model, uint8_t l) {
    const format_t *const *format = model->formats;
    while ((*format)->number != graph_layer(&model->file, l)->format) {
        format++;
    }
    return *format;
}

bool model_serves(const model_t *model, uint8_t service) {
    bool serves = true;
    for (uint8_t l = 0; l < model->file.layers; l++) {
        serves = serves && (model_format(model, l)->serves & service) == service;
    }
    return serves;
}
