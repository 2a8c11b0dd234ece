/* Engines that train the networks of affine8_made.h by FQT. */
#pragma once

#include "affine8_made.h"
#include "engine/engine.h"
#include "methods/settings.h"

/* Settings of FQT by default, a batch of 2 and eta = 0.01. */
fqt_settings_t fqt_defaults(void);

/* An engine with such a network, in an arena that ends where its plan does; the file in RAM, or in flash. */
typedef struct {
    engine_t *engine;
    uint8_t *arena;
    uint32_t planned;
} fqt_trainee_t;

fqt_trainee_t fqt_trainee_new(const graph_made_t *made, const fqt_settings_t *settings, bool in_flash);
void fqt_trainee_free(fqt_trainee_t *trainee);

/* Fill slots 0..count-1 with samples first.. of section 11. */
void fqt_fill(const fqt_trainee_t *trainee, uint16_t first, uint16_t count);
