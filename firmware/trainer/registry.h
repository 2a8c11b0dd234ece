/* The formats and methods of this firmware: the only list of them. */
#ifndef REGISTRY_H
#define REGISTRY_H

#include "engine/format.h"
#include "engine/method.h"

/* NULL ends them. */
extern const format_t *const registry_formats[];

/* The method that the request `configure` is for; and that of a number in `configure_graph`, whose check refuses one
   that there is not. */
const method_t *registry_elasticzo(void);
const method_t *registry_tflite8(uint8_t number);

#endif
