/* For ports whose board has no boot loader that a program can enter. */
#include "agent/port.h"

__attribute__((weak)) bool port_has_boot_loader(void) {
    return false;
}

__attribute__((weak)) void port_enter_boot_loader(void) {
}
