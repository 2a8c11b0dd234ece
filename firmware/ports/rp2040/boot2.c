/* The second stage of the boot: the first 256 bytes of the flash, which the boot ROM copies to the top of SRAM, checks
   (the last four are a CRC-32, see seal_boot2.py) and calls (RP2040 data sheet, 2.8.1). It lets the flash be executed
   in place and goes on to the program's vector table. No variable, no call: it runs at an address it was not linked
   for. */
#include <stdint.h>

#include "cortex_m.h"
#include "xip.h"

#define VECTORS 0x10000100u

__attribute__((section(".boot2"), used, noreturn)) void boot2(void) {
    xip_start();
    SCB_VTOR = VECTORS;
    const uint32_t stack = REGISTER(VECTORS), start = REGISTER(VECTORS + 4u);
    __asm volatile("msr msp, %0\n bx %1" : : "r"(stack), "r"(start));
    __builtin_unreachable();
}
