#include "net/trace.h"

#include <stddef.h>

#include "net/backward.h"
#include "net/forward.h"

uint32_t trace(model_t *model, uint16_t slot, uint16_t group, uint16_t stage, uint32_t offset, uint8_t *out,
               uint32_t room) {
    stages_t stages = {.wanted = stage, .offset = offset, .out = out, .room = room};
    const uint16_t first = group > 1 ? 0 : slot;
    const observer_t observer = {.see = stages_see, .context = &stages, .member = (uint16_t)(slot - first)};
    const int8_t *samples = model_sample(model, first);
    model->observer = &observer;
    forward(model, samples, group);
    if (model->first_bp < model->file.layers) {
        backward_begin(model);
        backward(model, samples, model_labels(model) + first, group);
    }
    model->observer = NULL;
    return stages.length;
}
