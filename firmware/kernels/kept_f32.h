/* The output channels of a layer whose errors count: docs/arithmetic-fqt.md, section 4. An error has these only, position
   by position. The products of an error of 0 change no sum: docs/arithmetic-float32.md, section 1. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint16_t *list; /* in ascending order; NULL: all channels */
    uint32_t count;
} kept_f32_t;

/* Move the errors of the channels of a list together, in place. */
void pack_channels_f32(float *error, uint32_t positions, uint32_t channels, const kept_f32_t *kept);
