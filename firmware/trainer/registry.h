/* The formats and methods of this firmware: the only list of them. */
#pragma once

#include "engine/engine.h"

/* NULL ends them. */
extern const format_t *const registry_formats[];

/* A method by its number in `configure`; NULL: there is none. */
const method_t *registry_method(uint8_t number);

/* Configure by the body of the request. `planned` as of engine_configure. */
failure_t registry_configure(engine_t *engine, const uint8_t *body, uint32_t length, uint32_t *planned);
