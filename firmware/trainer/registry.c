#include "trainer/registry.h"

#include <stddef.h>

#include "formats/bfp8.h"
#include "formats/tflite8.h"
#include "methods/back_propagation.h"
#include "methods/deepzero.h"
#include "methods/elasticzo_int8.h"
#include "methods/poor_mans.h"
#include "methods/tflite8_settings.h"

const format_t *const registry_formats[] = {&bfp8, &tflite8, NULL};

const method_t *registry_elasticzo(void) {
    return &elasticzo_int8;
}

const method_t *registry_tflite8(uint8_t number) {
    switch (number) {
    case METHOD_DEEPZERO: return &deepzero;
    case METHOD_BP: return &back_propagation;
    default: return &poor_mans;
    }
}
