#include "trainer/registry.h"

#include <stddef.h>

#include "graph/checks.h"

/* The formats, one a line. */
#define FORMATS(FORMAT)                                                                                                \
    FORMAT(bfp8)                                                                                                       \
    FORMAT(tflite8)                                                                                                    \
    FORMAT(float32)                                                                                                    \
    FORMAT(w16a8)                                                                                                      \
    FORMAT(affine8)                                                                                                    \
    /* the next format */

/* The methods, one a line, in the order of the tables [loops.NAME] of hil/training/methods/methods.toml. */
#define METHODS(METHOD)                                                                                                \
    METHOD(poor_mans)                                                                                                  \
    METHOD(deepzero)                                                                                                   \
    METHOD(back_propagation)                                                                                           \
    METHOD(elasticzo_int8)                                                                                             \
    METHOD(elasticzo_fp32)                                                                                             \
    METHOD(qzo_ff)                                                                                                     \
    METHOD(fqt)                                                                                                        \
    METHOD(tinytrain)                                                                                                  \
    METHOD(quzo)                                                                                                       \
    METHOD(perturbed_scales)                                                                                           \
    /* the next method */

#define DECLARED(name) extern const method_t name;
#define DECLARED_FORMAT(name)                                                                                          \
    extern const format_t name;                                                                                        \
    extern const format_checks_t name##_checks;
#define LISTED(name) &name,
#define LISTED_CHECKS(name) &name##_checks,

METHODS(DECLARED)
FORMATS(DECLARED_FORMAT)

const format_t *const registry_formats[] = {FORMATS(LISTED) NULL};
const format_checks_t *const registry_checks[] = {FORMATS(LISTED_CHECKS) NULL};

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
