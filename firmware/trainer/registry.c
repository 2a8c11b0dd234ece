#include "trainer/registry.h"

#include <stddef.h>

#include "formats/bfp8.h"
#include "formats/tflite8.h"

/* The methods, one a line, in the order of the tables [loops.NAME] of hil/methods/methods.toml. */
#define METHODS(METHOD)                                                                                                \
    METHOD(poor_mans)                                                                                                  \
    METHOD(deepzero)                                                                                                   \
    METHOD(back_propagation)                                                                                           \
    METHOD(elasticzo_int8)                                                                                             \
    /* the next method */

#define DECLARED(name) extern const method_t name;
#define LISTED(name) &name,

METHODS(DECLARED)

const format_t *const registry_formats[] = {&bfp8, &tflite8, NULL};

static const method_t *const methods[] = {METHODS(LISTED)};

const method_t *registry_method(uint8_t number) {
    return number < sizeof methods / sizeof methods[0] ? methods[number] : NULL;
}

failure_t registry_configure(engine_t *engine, const uint8_t *body, uint32_t length, uint32_t *planned) {
    const method_t *method = registry_method(body[0]);
    if (method == NULL) {
        return refusal(FAILURE_BAD_SETTING, 0, body[0]);
    }
    union {
        settings_t settings;
        uint8_t bytes[SETTINGS_BYTES];
    } any;
    RETURN_IF_REFUSED(settings_read(method->settings, body, length, &any));
    return engine_configure(engine, method, &any, planned);
}
