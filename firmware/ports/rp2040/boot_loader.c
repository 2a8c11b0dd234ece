/* The boot ROM's USB boot (RP2040 data sheet, 2.8.3 bootrom contents, reset_to_usb_boot): entered by a function that
   its table names 'U', 'B'. */
#include "agent/port.h"
#include "rp2040.h"

#define RESET_TO_USB_BOOT ('U' | 'B' << 8)

typedef void *(*look_up_t)(const void *table, uint32_t code);
typedef void (*reset_to_usb_boot_t)(uint32_t activity_pins, uint32_t disabled_interfaces);

static reset_to_usb_boot_t find(void) {
    const look_up_t look_up = (look_up_t)(uintptr_t)rom_table_lookup;
    return (reset_to_usb_boot_t)look_up((const void *)(uintptr_t)rom_function_table, RESET_TO_USB_BOOT);
}

bool port_has_boot_loader(void) {
    return find() != NULL;
}

/* No pin shows activity; both the drive and PICOBOOT are offered. The ROM resets the chip by its watchdog. */
void port_enter_boot_loader(void) {
    find()(0, 0);
}
