#include "trainer/registry.h"

#include <stddef.h>

#include "formats/bfp8.h"
#include "formats/tflite8.h"
#include "methods/elasticzo_int8.h"
#include "methods/tflite8_settings.h"

/* The methods on tflite8, one a line. The place of a line is the number in `configure_graph`, and the place of the
   method's table in hil/methods/methods.toml. */
#define METHODS_ON_TFLITE8(METHOD)                                                                                     \
    METHOD(poor_mans)                                                                                                  \
    METHOD(deepzero)                                                                                                   \
    METHOD(back_propagation)                                                                                           \
    /* the next method */

#define DECLARED(name) extern const method_t name;
#define LISTED(name) &name,

METHODS_ON_TFLITE8(DECLARED)

static const method_t *const methods_on_tflite8[] = {METHODS_ON_TFLITE8(LISTED)};

enum { METHODS = sizeof methods_on_tflite8 / sizeof methods_on_tflite8[0] };

static failure_t refuse_number(const settings_t *settings, const graph_file_t *file) {
    (void)file;
    return refusal(FAILURE_BAD_SETTING, 0, ((const tflite8_settings_t *)(const void *)settings)->method);
}

static const method_t no_method = {.format = FORMAT_TFLITE8, .check = refuse_number};

const format_t *const registry_formats[] = {&bfp8, &tflite8, NULL};

const method_t *registry_elasticzo(void) {
    return &elasticzo_int8;
}

const method_t *registry_tflite8(uint8_t number) {
    return number < METHODS ? methods_on_tflite8[number] : &no_method;
}
