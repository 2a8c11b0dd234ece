/* For ports without a boot loader that a program can enter, or without flash that a program can write while it runs. */
#include "agent/port.h"

__attribute__((weak)) bool port_has_boot_loader(void) {
    return false;
}

__attribute__((weak)) void port_enter_boot_loader(void) {
}

__attribute__((weak)) port_flash_t port_flash(void) {
    return (port_flash_t){.size = 0};
}

__attribute__((weak)) bool port_flash_erase(uint32_t offset) {
    (void)offset;
    return false;
}

__attribute__((weak)) bool port_flash_program(uint32_t offset, const uint8_t *bytes, size_t n) {
    (void)offset;
    (void)bytes;
    (void)n;
    return false;
}

__attribute__((weak)) bool port_flash_read(uint32_t offset, uint8_t *bytes, size_t n) {
    (void)offset;
    (void)bytes;
    (void)n;
    return false;
}
