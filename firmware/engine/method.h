/* A method: a training loop over passes. The engine knows methods by this table alone. */
#ifndef METHOD_H
#define METHOD_H

#include "engine/pass.h"

/* A field of the request with the settings: its value, and its bounds. */
typedef struct {
    uint32_t value, least, most;
} range_t;

/* Refuse the first field that is out of range, by its index and its value. */
static inline failure_t ranges_check(const range_t *fields, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (fields[i].value < fields[i].least || fields[i].value > fields[i].most) {
            return refusal(FAILURE_BAD_SETTING, i, fields[i].value);
        }
    }
    return no_failure();
}

/* The layers from..to - 1 are run, with the buffers placed for them. Only what is run before the first start does not
   end with the last layer. */
typedef struct {
    uint8_t from, to;
} start_t;

typedef struct method_table {
    enum format format;      /* that it trains */
    uint32_t settings_bytes; /* of its settings, which begin with a settings_t */

    /* Whether the settings are in range for a network: index of the first field of the request that is not, and its
       value. Of two fields that do not go together, the later one. */
    failure_t (*check)(const settings_t *settings, const graph_file_t *file);
    /* What the settings train, and in which order. */
    training_t (*training)(const settings_t *settings, const graph_file_t *file);
    /* The buffers that stay through all of training, behind the file and copies of what is trained; NULL: none. */
    void (*stand)(plan_t *plan, const model_t *model);
    /* The buffers of a start: those that are kept, then the others. */
    void (*demand)(placing_t *placing, const model_t *model, start_t start);
    /* There is a plan, and the arena has been painted. May be NULL. */
    void (*begin)(model_t *model);
    /* Take the samples in slots 0..count-1 through a pass: the next of its samples, or the first of the next pass. */
    void (*take)(model_t *model, step_t *step, uint8_t pass, uint16_t count);
    /* End the step: updates. Returns the sign of a comparison of losses, 0 where there is none. */
    int8_t (*finish)(model_t *model, step_t *step);
    /* Show an observer all that is made of the samples in slots first..first+count-1, with the weights as they are. */
    void (*trace)(model_t *model, uint16_t first, uint16_t count);
} method_t;

#endif
