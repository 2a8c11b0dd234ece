/* Callback for every activation and error of one sample, and the stages of a trace (docs/link.md) made of them. */
#pragma once

#include <stdint.h>

typedef struct {
    void (*see)(void *context, const int8_t *values, uint32_t bytes, int32_t exponent);
    void (*see_scaled)(void *context, const int8_t *values, uint32_t bytes, float scale, int32_t zero);
    void *context;
    uint16_t member; /* of the group */
} observer_t;

/* Show the values of the observed member, so many bytes; `values` are those of the whole group. */
static inline void observe(const observer_t *observer, const int8_t *values, uint32_t bytes, int32_t exponent) {
    if (observer != 0) {
        observer->see(observer->context, values + observer->member * bytes, bytes, exponent);
    }
}

/* The same of values that have a scale and a zero point, which a trace shows. */
static inline void observe_scaled(const observer_t *observer, const int8_t *values, uint32_t bytes, float scale,
                                  int32_t zero) {
    if (observer != 0) {
        observer->see_scaled(observer->context, values + observer->member * bytes, bytes, scale, zero);
    }
}

#define TRACE_ALL_STAGES 0xFFFFu

typedef struct {
    uint16_t wanted,
        stage; /* `wanted`: TRACE_ALL_STAGES, or the stage whose bytes from `offset` on are copied to `out` */
    uint32_t offset;
    uint8_t *out;
    uint32_t room, length;
} stages_t;

/* `see` and `see_scaled` of an observer_t whose context is a stages_t: take the bytes of the values, then their exponent
   as int16; or their scale as binary32 and their zero point as int16. */
void stages_see(void *context, const int8_t *values, uint32_t bytes, int32_t exponent);
void stages_see_scaled(void *context, const int8_t *values, uint32_t bytes, float scale, int32_t zero);
