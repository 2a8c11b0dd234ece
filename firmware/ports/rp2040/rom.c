/* Functions of the boot ROM (RP2040 data sheet, 2.8.3 bootrom contents). */
#include "agent/port.h"
#include "board.h"

typedef void *(*look_up_t)(const void *table, uint32_t code);
typedef void (*reset_to_usb_boot_t)(uint32_t activity_pins, uint32_t disabled_interfaces);

void *rom_function(char first, char second) {
    const look_up_t look_up = (look_up_t)(uintptr_t)rom_table_lookup;
    return look_up((const void *)(uintptr_t)rom_function_table, (uint32_t)first | (uint32_t)second << 8);
}

static reset_to_usb_boot_t find(void) {
    return (reset_to_usb_boot_t)rom_function('U', 'B');
}

bool port_has_boot_loader(void) {
    return find() != NULL;
}

/* No pin shows activity; both the drive and PICOBOOT are offered. The ROM resets the chip by its watchdog. */
void port_enter_boot_loader(void) {
    find()(0, 0);
}
