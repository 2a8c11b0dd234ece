/* The end of a step: docs/arithmetic-fqt.md, sections 6 to 8. */
#include <string.h>

#include "formats/float32.h"
#include "methods/fqt.h"

#define MOST_WIDTH 0x1p30f

static failure_t fail(uint8_t l, uint8_t cause) {
    return refusal(FAILURE_STEP_FAILED, l, cause);
}

/* Where all trained layers go: first their weights and biases, then the ranges of their outputs. */
static failure_t move_all(const model_t *model, uint32_t samples, fqt_moved_t *moved) {
    const uint8_t first = model->training.first_backward, n = model->file.layers;
    for (uint8_t l = first; l < n; l++) {
        const uint8_t cause = fqt_is_trained(model, l) ? fqt_move(model, l, samples, &moved[l]) : 0;
        if (cause != 0) {
            return fail(l, cause);
        }
    }
    for (uint8_t l = first; l < n; l++) {
        if (fqt_is_observed(model, l)) {
            moved[l].range = fqt_moved_range(model, l, moved);
            const float width = moved[l].range.high - moved[l].range.low;
            if (!(width <= MOST_WIDTH)) {
                return fail(l, FQT_RANGE_LEAVES);
            }
        }
    }
    return no_failure();
}

/* The weights from f, which are in place of their gradients. */
static void write_weights(const model_t *model, uint8_t l, const fqt_moved_t *moved) {
    const uint32_t n = graph_weight_count(graph_layer(&model->file, l));
    const float *f = fqt_gradient(model, l);
    if (!fqt_is_affine8(model, l)) {
        memcpy(float32_weights(model, l), f, n * sizeof *f);
        return;
    }
    affine8_tail_t *tail = affine8_tail(model, l);
    int8_t *weights = model_weights(model, l);
    const float j = 1.0f / moved->weight_scale;
    for (uint32_t i = 0; i < n; i++) {
        weights[i] = affine8_quantize(f[i], j, moved->weight_zero, false);
    }
    tail->scale = moved->weight_scale;
    tail->zero = moved->weight_zero;
}

static void write_all(const model_t *model, const fqt_moved_t *moved) {
    for (uint8_t l = model->training.first_backward; l < model->file.layers; l++) {
        const graph_layer_t *layer = graph_layer(&model->file, l);
        if (fqt_is_trained(model, l)) {
            write_weights(model, l, &moved[l]);
            memcpy(model_biases(model, l), fqt_gradient(model, l) + graph_weight_count(layer),
                   trained_biases(&model->training, layer) * sizeof(float));
        }
        if (fqt_is_observed(model, l)) {
            *affine8_range(model, l) = moved[l].range;
        }
    }
}

failure_t fqt_update(model_t *model, uint32_t samples) {
    fqt_moved_t moved[GRAPH_MAX_LAYERS];
    fqt_optimizer_advance(model);
    RETURN_IF_REFUSED(move_all(model, samples, moved));
    write_all(model, moved);
    for (uint8_t l = model->training.first_backward; l < model->file.layers; l++) {
        affine8_refresh(model, l);
    }
    return no_failure();
}
