/* The networks of docs/arithmetic-tinytrain.md, section 9, with their samples, and an engine that trains them. */
#pragma once

#include "graph_made.h"
#include "graph_trainee.h"
#include "methods/tinytrain.h"

enum { TINYTRAIN_SAMPLES = 3, TINYTRAIN_WAYS = 5 };

/* Where the file is, and how samples come: the outcome is the same. */
typedef struct {
    bool flash, one_by_one, consumed, fused;
} way_t;

extern const way_t tinytrain_ways[TINYTRAIN_WAYS];

/* A network of the page: 'A' or 'B'. */
void tinytrain_made(graph_made_t *made, char network);

/* One with layers of more channels than a gradient is computed for at a time, two of them side by side. */
void tinytrain_made_wide(graph_made_t *made);

/* Settings of the page, by default but for eta: three samples a step. */
tflite8_settings_t tinytrain_settings(void);

/* Put sample b of the page into a slot. */
void tinytrain_fill(graph_trainee_t *trainee, uint16_t slot, uint32_t b);

/* Whether the engine takes the settings: the offset of one that is refused, or METHOD_TAKES_ALL. */
uint8_t tinytrain_refused(const graph_made_t *made, const tflite8_settings_t *settings);
