/* The samples that the board holds. A sample may come in pieces: its slot counts as empty until the last is there. */
#pragma once

#include "engine/engine.h"

/* Count all slots, or one, as empty. */
void slots_empty(engine_t *engine);
void slot_empty(engine_t *engine, uint16_t slot);

/* Whether slots 0..count-1 hold samples; whether one does. */
failure_t slots_check(const engine_t *engine, uint16_t count);
bool slot_holds(const engine_t *engine, uint16_t slot);

/* The slots from 0 on that hold samples without a gap. */
uint16_t slots_filled(const engine_t *engine);

/* The label of the sample in a slot. */
uint16_t slot_label(const engine_t *engine, uint16_t slot);
