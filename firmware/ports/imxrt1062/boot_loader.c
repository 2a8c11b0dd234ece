/* PJRC's loader chip is a debugger on the SWD wires: it has halting debug switched on, and takes a core that halts at a
   BKPT for one that asks to be programmed; 251 is the number that PJRC requires in it (PJRC forum, threads 74242 and
   26358; the latter is about Teensy 3: that C_DEBUGEN reads 1 on a Teensy 4, too, is concluded and unverified). */
#include "agent/port.h"
#include "cortex_m.h"

/* Without a debugger, a BKPT is a fault (ARM DDI 0403E.e, C1.5). */
bool port_has_boot_loader(void) {
    return (DHCSR & DHCSR_C_DEBUGEN) != 0;
}

void port_enter_boot_loader(void) {
    __asm volatile("bkpt #251");
}
