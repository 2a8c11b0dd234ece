#include "arith/float32.h"
#include "arith/integers.h"
#include "methods/qzo_ff.h"

#define HELD 0x1p30f /* above every quotient that counts */

enum { MOST_GAPS = 30 /* of 256: a byte for each weight of a larger share is more than a bit for each of all */ };

/* Weights of a magnitude from `least` on. */
static uint32_t count_from(const int16_t *weights, uint32_t n, int32_t least) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        count += magnitude(weights[i]) >= (uint32_t)least;
    }
    return count;
}

static uint32_t top_of(uint32_t n, uint32_t keep) {
    const uint32_t wanted = (uint32_t)(((uint64_t)n * keep + 128) / 256);
    return wanted > 0 ? wanted : 1;
}

static void select_top(const qzo_tensor_t *tensor, uint32_t keep, selecting_t *selecting) {
    const uint32_t count = top_of(tensor->n, keep);
    int32_t least = 0, beyond = INT16_MAX + 1; /* at least `count` have `least`, fewer have `beyond` */
    while (beyond - least > 1) {
        const int32_t middle = (least + beyond) / 2;
        if (count_from(tensor->weights, tensor->n, middle) >= count) {
            least = middle;
        } else {
            beyond = middle;
        }
    }
    uint32_t equal = count - count_from(tensor->weights, tensor->n, least + 1); /* that are selected, in order */
    for (uint32_t i = 0; i < tensor->n; i++) {
        const uint32_t size = magnitude(tensor->weights[i]);
        if (size > (uint32_t)least || (size == (uint32_t)least && equal > 0)) {
            equal -= size == (uint32_t)least;
            selecting_add(selecting, i);
        }
    }
}

/* Of `n` weights those that are drawn, which are added to a selection, or only counted. */
static uint32_t select_random(const qzo_ff_settings_t *settings, uint8_t index, uint32_t n, selecting_t *selecting) {
    uint32_t state = mix32(mix32(settings->seed) ^ (0x27D4EB2Fu * (index + 1u))), count = 0;
    state = state == 0 ? 0x6D2B79F5u : state;
    for (uint32_t i = 0; i < n; i++) {
        state = i % 4 == 0 ? xorshift32(state) : state;
        const bool drawn = (state >> 8 * (i % 4) & 0xFFu) < settings->keep;
        count += drawn;
        if (drawn && selecting != NULL) {
            selecting_add(selecting, i);
        }
    }
    return count;
}

uint32_t qzo_selected(const qzo_ff_settings_t *settings, uint8_t index, uint32_t n) {
    switch (settings->sparse) {
    case SPARSE_TOP: return top_of(n, settings->keep);
    case SPARSE_RANDOM: return select_random(settings, index, n, NULL);
    default: return n;
    }
}

bool qzo_keeps_gaps(const qzo_ff_settings_t *settings) {
    return settings->sparse != SPARSE_THRESHOLD && settings->keep <= MOST_GAPS;
}

static uint32_t least_of(const qzo_ff_settings_t *settings, float unit) {
    const float quotient = settings->threshold / unit;
    return (uint32_t)float32_to_integer(quotient < HELD ? quotient : HELD);
}

static void select_from(const qzo_tensor_t *tensor, uint32_t least, selecting_t *selecting) {
    for (uint32_t i = 0; i < tensor->n; i++) {
        if (magnitude(tensor->weights[i]) >= least) {
            selecting_add(selecting, i);
        }
    }
}

bool qzo_threshold_selects(const qzo_ff_settings_t *settings, float unit, const int16_t *weights, uint32_t n) {
    const uint32_t least = least_of(settings, unit);
    return least <= INT16_MAX && count_from(weights, n, (int32_t)least) > 0;
}

void qzo_select_tensor(const qzo_ff_settings_t *settings, const qzo_tensor_t *tensor, uint8_t *code) {
    selecting_t selecting = selecting_begin(code, tensor->n, qzo_keeps_gaps(settings));
    switch (settings->sparse) {
    case SPARSE_TOP: select_top(tensor, settings->keep, &selecting); break;
    case SPARSE_RANDOM: (void)select_random(settings, tensor->index, tensor->n, &selecting); break;
    default: select_from(tensor, least_of(settings, tensor->unit), &selecting);
    }
    selecting_end(&selecting);
}

void qzo_select(const model_t *model) {
    const qzo_ff_settings_t *settings = qzo_settings(model);
    const uint8_t tensors = model_tensors(model);
    for (uint8_t i = 0; settings->sparse != SPARSE_OFF && i < tensors; i++) {
        const qzo_tensor_t tensor = qzo_tensor(model, i);
        if (tensor.weights != NULL) {
            qzo_select_tensor(settings, &tensor, (uint8_t *)model_buffer(model, QZO_SELECTION, tensor.layer));
        }
    }
}
