/* Functions of the boot ROM (RP2350 data sheet, bootrom APIs). The ROM checks its own steps by the redundancy
   coprocessor, which it leaves enabled. */
#include "agent/port.h"
#include "board.h"

typedef void *(*look_up_t)(uint32_t code, uint32_t kind);
typedef int (*reboot_t)(uint32_t flags, uint32_t delay_ms, uint32_t parameter_0, uint32_t parameter_1);

#define OF_ARM_SECURE 0x4u /* the kind of function that is looked up */

#define REBOOT_TO_USB_BOOT 0x2u
#define REBOOT_DOES_NOT_RETURN 0x100u
#define REBOOT_DELAY_MS 10u

void *rom_function(char first, char second) {
    const look_up_t look_up = (look_up_t)(uintptr_t)rom_table_lookup;
    SCB_CPACR |= CPACR_REDUNDANCY;
    barrier();
    return look_up((uint32_t)first | (uint32_t)second << 8, OF_ARM_SECURE);
}

static reboot_t find(void) {
    return (reboot_t)rom_function('R', 'B');
}

bool port_has_boot_loader(void) {
    return find() != NULL;
}

/* No pin shows activity; both the drive and PICOBOOT are offered. The ROM resets the chip by its watchdog. */
void port_enter_boot_loader(void) {
    interrupts_mask();
    guard_off();
    (void)find()(REBOOT_TO_USB_BOOT | REBOOT_DOES_NOT_RETURN, REBOOT_DELAY_MS, 0, 0);
}
