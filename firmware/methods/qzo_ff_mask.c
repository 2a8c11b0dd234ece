#include <string.h>

#include "arith/float32.h"
#include "arith/integers.h"
#include "methods/qzo_ff.h"

#define HELD 0x1p30f /* above every quotient that counts */

static void select_weight(uint8_t *mask, uint32_t i) {
    mask[i / 8] = (uint8_t)(mask[i / 8] | 1u << i % 8);
}

/* Weights of a magnitude from `least` on. */
static uint32_t count_from(const int16_t *weights, uint32_t n, int32_t least) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        count += magnitude(weights[i]) >= (uint32_t)least;
    }
    return count;
}

static void select_top(const qzo_tensor_t *tensor, uint32_t keep, uint8_t *mask) {
    const uint32_t wanted = (uint32_t)(((uint64_t)tensor->n * keep + 128) / 256), count = wanted > 0 ? wanted : 1;
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
            select_weight(mask, i);
        }
    }
}

static void select_random(const qzo_tensor_t *tensor, uint32_t seed, uint32_t keep, uint8_t *mask) {
    uint32_t state = mix32(mix32(seed) ^ (0x27D4EB2Fu * (tensor->index + 1u)));
    state = state == 0 ? 0x6D2B79F5u : state;
    for (uint32_t i = 0; i < tensor->n; i++) {
        state = i % 4 == 0 ? xorshift32(state) : state;
        if ((state >> 8 * (i % 4) & 0xFFu) < keep) {
            select_weight(mask, i);
        }
    }
}

static uint32_t least_of(const qzo_ff_settings_t *settings, float unit) {
    const float quotient = settings->threshold / unit;
    return (uint32_t)float32_to_integer(quotient < HELD ? quotient : HELD);
}

static void select_from(const qzo_tensor_t *tensor, uint32_t least, uint8_t *mask) {
    for (uint32_t i = 0; i < tensor->n; i++) {
        if (magnitude(tensor->weights[i]) >= least) {
            select_weight(mask, i);
        }
    }
}

bool qzo_threshold_selects(const qzo_ff_settings_t *settings, float unit, const int16_t *weights, uint32_t n) {
    const uint32_t least = least_of(settings, unit);
    return least <= INT16_MAX && count_from(weights, n, (int32_t)least) > 0;
}

void qzo_select_tensor(const qzo_ff_settings_t *settings, const qzo_tensor_t *tensor, uint8_t *mask) {
    switch (settings->sparse) {
    case SPARSE_TOP: select_top(tensor, settings->keep, mask); break;
    case SPARSE_RANDOM: select_random(tensor, settings->seed, settings->keep, mask); break;
    default: select_from(tensor, least_of(settings, tensor->unit), mask);
    }
}

void qzo_select(const model_t *model) {
    const qzo_ff_settings_t *settings = qzo_settings(model);
    const uint8_t tensors = model_tensors(model);
    for (uint8_t i = 0; settings->sparse != SPARSE_OFF && i < tensors; i++) {
        const qzo_tensor_t tensor = qzo_tensor(model, i);
        if (tensor.weights == NULL) {
            continue;
        }
        uint8_t *mask = (uint8_t *)model_buffer(model, QZO_MASK, tensor.layer);
        memset(mask, 0, (tensor.n + 7) / 8);
        qzo_select_tensor(settings, &tensor, mask);
    }
}
