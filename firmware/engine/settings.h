/* The settings of a method: read from the body of `configure`, and checked against limits. The structures and the
   tables are generated from hil/training/methods/methods.toml. */
#pragma once

#include <stdbool.h>

#include "engine/common_settings.h"
#include "graph/failure.h"

enum { SETTINGS_BYTES = 80 }; /* of the largest structure at most */

/* A setting: its limits, both included, its place in the structure, its bytes there and in `configure`, and whether a
   schedule may change it. The limits of a float are bits: from 0 on, numbers are in the order of their bits. */
typedef struct {
    uint32_t least, most;
    uint8_t place, bytes;
    bool scheduled;
} setting_t;

/* The settings of a method in the order of `configure`, and the size of the structure in bytes. */
typedef struct {
    const setting_t *settings;
    uint8_t count, size;
} settings_table_t;

/* Read the body of `configure`, packed and little-endian, into the structure. Refuses another length. */
failure_t settings_read(const settings_table_t *table, const uint8_t *body, uint32_t length, void *settings);

/* Refuse the first setting that is not within its limits. */
failure_t settings_check(const settings_table_t *table, const void *settings);

/* Refuse the setting at a place of the structure, by its index in the table and its value. */
failure_t settings_refuse(const settings_table_t *table, const void *settings, uint8_t place);

/* Whether two structures differ in nothing but what a schedule may change, and `first_step`. */
bool settings_may_follow(const settings_table_t *table, const void *before, const void *after);

/* Copy what a schedule may change. */
void settings_follow(const settings_table_t *table, void *settings, const void *after);
