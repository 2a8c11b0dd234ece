/* Generated from hil/training/methods/methods.toml by `python -m hil.training.methods.generate`; edit that file. */
#pragma once

#include <stdint.h>

/* The settings of every method. Those of a method are a structure that begins with them. */
typedef struct {
    uint8_t method;
    uint16_t batch;
    uint16_t slots;
    uint32_t seed;
    uint32_t first_step;
} settings_t;
