/* Why a request was refused. The numbers are those of [error] in hil/link/messages.toml, and so is the meaning of a
   and b. */
#ifndef FAILURE_H
#define FAILURE_H

#include <stdint.h>

typedef struct {
    uint8_t code; /* a failure_code; 0: all is well */
    uint32_t a, b;
} failure_t;

enum failure_code {
    FAILURE_NONE = 0,
    FAILURE_BAD_LENGTH = 1,
    FAILURE_OUT_OF_ORDER = 4,
    FAILURE_NETWORK_MAGIC = 5,
    FAILURE_NETWORK_VERSION = 6,
    FAILURE_NETWORK_TRUNCATED = 7,
    FAILURE_NETWORK_DIGEST = 8,
    FAILURE_NETWORK_LAYER = 9,
    FAILURE_NO_NETWORK = 10,
    FAILURE_NOT_CONFIGURED = 11,
    FAILURE_DOES_NOT_FIT = 12,
    FAILURE_BAD_SETTING = 13,
    FAILURE_BAD_SLOT = 14,
    FAILURE_BAD_TENSOR = 15,
    FAILURE_SLOTS_EMPTY = 16,
    FAILURE_PARTS_MISSING = 17,
};

static inline failure_t refusal(enum failure_code code, uint32_t a, uint32_t b) {
    return (failure_t){.code = (uint8_t)code, .a = a, .b = b};
}

static inline failure_t no_failure(void) {
    return refusal(FAILURE_NONE, 0, 0);
}

#endif
