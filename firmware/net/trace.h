/* One sample, stage by stage: what every layer made of it, forward and backward (docs/link.md, `trace`). */
#ifndef TRACE_H
#define TRACE_H

#include "net/model.h"
#include "net/stages.h"

/* Run the sample of a slot forward, and backward where back-propagation trains, with the weights as they are; nothing is updated.
   `group` samples share its exponents: 1, or as many as the slots 0..group-1 hold. With TRACE_ALL_STAGES `out` takes the digest of
   every stage, else the bytes of one stage from `offset` on. Returns the bytes written, at most `room`. */
uint32_t trace(model_t *model, uint16_t slot, uint16_t group, uint16_t stage, uint32_t offset, uint8_t *out,
               uint32_t room);

#endif
