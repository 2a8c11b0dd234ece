/* A method: a training loop over passes. The engine knows methods by this table alone. */
#pragma once

#include <stddef.h>

#include "engine/pass.h"

/* The layers from..to - 1 are run, with the buffers placed for them. Only what is run before the first start does not
   end with the last layer. */
typedef struct {
    uint8_t from, to;
} start_t;

enum { METHOD_TAKES_ALL = UINT8_MAX };

typedef struct method_table {
    uint8_t format;                   /* that it trains; 0: every format of chains */
    const settings_table_t *settings; /* of its settings, a structure that begins with a settings_t */

    /* Whether the settings, which are within their limits, go together and with a network: offset of one that does
       not, or METHOD_TAKES_ALL. */
    uint8_t (*check)(const settings_t *settings, const graph_file_t *file);
    /* What the settings train, and in which order. */
    training_t (*training)(const settings_t *settings, const graph_file_t *file);
    /* The buffers that stay through all of training, behind the file and copies of what is trained; NULL: none. */
    void (*stand)(plan_t *plan, const model_t *model);
    /* The buffers of a start: those that are kept, then the others. */
    void (*demand)(placing_t *placing, const model_t *model, start_t start);
    /* There is a plan, and the arena has been painted. May be NULL. */
    void (*begin)(model_t *model);
    /* A pass begins: the step has its number, and no samples of it yet. */
    void (*begin_pass)(model_t *model, step_t *step);
    /* Take the next group of samples through a pass: step->group samples from a slot on. */
    void (*take)(model_t *model, step_t *step, uint16_t slot);
    /* End the step: updates. Returns the sign of a comparison of losses, 0 where there is none. */
    int8_t (*finish)(model_t *model, step_t *step);
    /* Show an observer all that is made of the samples in slots first..first+count-1, with the weights as they are. */
    void (*trace)(model_t *model, uint16_t first, uint16_t count);
} method_t;
