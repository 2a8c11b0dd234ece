/* A method: a training loop over passes. This table is all that the engine knows of a method. */
#pragma once

#include <stddef.h>

#include "engine/pass.h"

/* The layers from..to - 1 run with the buffers that are placed for them. `to` is the number of layers, except before
   the first start. */
typedef struct {
    uint8_t from, to;
} start_t;

enum { METHOD_TAKES_ALL = UINT8_MAX };

typedef struct method_table {
    uint8_t format;                   /* of the layers that it trains; 0: every format with `chain` */
    uint32_t formats;                 /* more formats that layers may have: bit n for format n */
    bool in_ram;                      /* it takes no file in flash */
    const settings_table_t *settings; /* of its settings, a structure that begins with a settings_t */

    /* Check that the settings, which are within their limits, are consistent and fit the network. Returns the offset of
       a setting that does not, or METHOD_TAKES_ALL. */
    uint8_t (*check)(const settings_t *settings, const graph_file_t *file);
    /* What the settings train, and in which order. */
    training_t (*training)(const settings_t *settings, const graph_file_t *file);
    /* The buffers that stay for all of training, after the file and copies of what is trained. NULL: there are none. */
    void (*stand)(plan_t *plan, const model_t *model);
    /* Add the buffers of a start to the plan: those that are kept, then the others. */
    void (*demand)(placing_t *placing, const model_t *model, start_t start);
    /* Called once the plan is made and the arena painted. May be NULL. */
    void (*begin)(model_t *model);
    /* Begin a pass. The step has the number of the pass, and no samples of it yet. */
    void (*begin_pass)(model_t *model, step_t *step);
    /* Take the next group of samples through a pass: step->group samples from a slot on. */
    void (*take)(model_t *model, step_t *step, uint16_t slot);
    /* End the step: update, unless it fails (step->failure): then nothing that is trained has changed. Returns the sign of the comparison of losses, 0 if the method compares none. */
    int8_t (*finish)(model_t *model, step_t *step);
    /* Show the observer all values and errors of the samples in slots first..first+count-1. Weights do not change. */
    void (*trace)(model_t *model, uint16_t first, uint16_t count);
} method_t;
