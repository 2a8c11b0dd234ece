/* Why a request was refused. The numbers are those of [error] in hil/link/messages.toml, and so is the meaning of a
   and b. */
#pragma once

#include <stdint.h>

typedef struct {
    uint8_t code; /* a failure_code; 0: all is well */
    uint32_t a, b;
} failure_t;

#define FAILURE_CODES(CODE)                                                                                            \
    CODE(BAD_LENGTH, 1)                                                                                                \
    CODE(OUT_OF_ORDER, 4)                                                                                              \
    CODE(NETWORK_MAGIC, 5)                                                                                             \
    CODE(NETWORK_VERSION, 6)                                                                                           \
    CODE(NETWORK_TRUNCATED, 7)                                                                                         \
    CODE(NETWORK_DIGEST, 8)                                                                                            \
    CODE(NETWORK_LAYER, 9)                                                                                             \
    CODE(NO_NETWORK, 10)                                                                                               \
    CODE(NOT_CONFIGURED, 11)                                                                                           \
    CODE(DOES_NOT_FIT, 12)                                                                                             \
    CODE(BAD_SETTING, 13)                                                                                              \
    CODE(BAD_SLOT, 14)                                                                                                 \
    CODE(BAD_TENSOR, 15)                                                                                               \
    CODE(SLOTS_EMPTY, 16)                                                                                              \
    CODE(PARTS_MISSING, 17)                                                                                            \
    CODE(NO_ROOM, 19)                                                                                                  \
    CODE(FLASH_FAILED, 20)                                                                                             \
    CODE(NO_CHECKPOINT, 21)                                                                                            \
    CODE(STEP_FAILED, 22)
#define FAILURE_CODE(name, number) FAILURE_##name = number,
enum failure_code { FAILURE_NONE = 0, FAILURE_CODES(FAILURE_CODE) };

static inline failure_t refusal(enum failure_code code, uint32_t a, uint32_t b) {
    return (failure_t){.code = (uint8_t)code, .a = a, .b = b};
}

static inline failure_t no_failure(void) {
    return refusal(FAILURE_NONE, 0, 0);
}

/* Return from the function with the failure of a check, if it fails. */
#define RETURN_IF_REFUSED(check)                                                                                       \
    do {                                                                                                               \
        const failure_t refused_by_check = (check);                                                                    \
        if (refused_by_check.code != 0) {                                                                              \
            return refused_by_check;                                                                                   \
        }                                                                                                              \
    } while (0)
