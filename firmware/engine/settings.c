#include "engine/settings.h"

#include <stddef.h>
#include <string.h>

failure_t settings_read(const settings_table_t *table, const uint8_t *body, uint32_t length, void *settings) {
    uint32_t expected = 0;
    for (uint8_t i = 0; i < table->count; i++) {
        expected += table->settings[i].bytes;
    }
    if (length != expected) {
        return refusal(FAILURE_BAD_LENGTH, length, expected);
    }
    for (uint8_t i = 0; i < table->count; i++) {
        const setting_t *setting = &table->settings[i];
        memcpy((uint8_t *)settings + setting->place, body, setting->bytes);
        body += setting->bytes;
    }
    return no_failure();
}

static uint32_t value_of(const setting_t *setting, const void *settings) {
    uint32_t value = 0;
    memcpy(&value, (const uint8_t *)settings + setting->place, setting->bytes);
    return value;
}

failure_t settings_check(const settings_table_t *table, const void *settings) {
    for (uint8_t i = 0; i < table->count; i++) {
        const uint32_t value = value_of(&table->settings[i], settings);
        if (value < table->settings[i].least || value > table->settings[i].most) {
            return refusal(FAILURE_BAD_SETTING, i, value);
        }
    }
    return no_failure();
}

failure_t settings_refuse(const settings_table_t *table, const void *settings, uint8_t place) {
    uint8_t index = 0;
    while (table->settings[index].place != place) {
        index++;
    }
    return refusal(FAILURE_BAD_SETTING, index, value_of(&table->settings[index], settings));
}

bool settings_may_follow(const settings_table_t *table, const void *before, const void *after) {
    for (uint8_t i = 0; i < table->count; i++) {
        const setting_t *setting = &table->settings[i];
        const bool may_differ = setting->scheduled || setting->place == offsetof(settings_t, first_step);
        if (!may_differ && value_of(setting, before) != value_of(setting, after)) {
            return false;
        }
    }
    return true;
}

void settings_follow(const settings_table_t *table, void *settings, const void *after) {
    for (uint8_t i = 0; i < table->count; i++) {
        const setting_t *setting = &table->settings[i];
        if (setting->scheduled) {
            memcpy((uint8_t *)settings + setting->place, (const uint8_t *)after + setting->place, setting->bytes);
        }
    }
}
