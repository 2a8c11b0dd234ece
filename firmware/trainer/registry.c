#include "trainer/registry.h"

#include <stddef.h>

#include "formats/bfp8.h"
#include "formats/tflite8.h"
#include "methods/back_propagation.h"
#include "methods/deepzero.h"
#include "methods/elasticzo_int8.h"
#include "methods/poor_mans.h"
#include "methods/settings.h"

const format_t *const registry_formats[] = {&bfp8, &tflite8, NULL};

static const method_t *const methods[] = {
    [METHOD_POOR_MANS] = &poor_mans,
    [METHOD_DEEPZERO] = &deepzero,
    [METHOD_BP] = &back_propagation,
    [METHOD_ELASTICZO_INT8] = &elasticzo_int8,
};

const method_t *registry_method(uint8_t number) {
    return number < sizeof methods / sizeof methods[0] ? methods[number] : NULL;
}

failure_t registry_configure(engine_t *engine, const uint8_t *body, uint32_t length, uint32_t *planned) {
    const method_t *method = registry_method(body[SETTING_METHOD]);
    if (method == NULL) {
        return refusal(FAILURE_BAD_SETTING, SETTING_METHOD, body[SETTING_METHOD]);
    }
    union {
        settings_t settings;
        uint8_t bytes[SETTINGS_BYTES];
    } any;
    const failure_t failure = settings_read(method->settings, body, length, &any);
    return failure.code == 0 ? engine_configure(engine, method, &any, planned) : failure;
}
