/* The samples that the board holds. */
#ifndef SLOTS_H
#define SLOTS_H

#include "net/engine.h"

/* Count all slots as empty. */
void slots_empty(engine_t *engine);

/* Whether slots 0..count-1 hold samples. */
failure_t slots_check(const engine_t *engine, uint16_t count);

/* Whether a slot holds a sample. */
bool slots_hold(const engine_t *engine, uint16_t slot);

/* The slots from 0 on that hold samples without a gap. */
uint16_t slots_filled(const engine_t *engine);

#endif
