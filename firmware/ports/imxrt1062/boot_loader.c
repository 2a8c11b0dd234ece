/* PJRC's loader chip is a debugger on the SWD wires, and takes a core that halts at a BKPT for one that asks to be
   programmed; 251 is the number that PJRC requires in it (PJRC forum, threads 74242 and 26358). A BKPT halts the core
   only while halting debug is on, so the loader chip must have it on, and C_DEBUGEN tells: unverified on a Teensy 4. */
#include "agent/port.h"
#include "board.h"
#include "cortex_m.h"

/* Without a debugger, a BKPT is a fault (ARM DDI 0403E.e, C1.5). */
bool port_has_boot_loader(void) {
    return (DHCSR & DHCSR_C_DEBUGEN) != 0;
}

void port_enter_boot_loader(void) {
    usb_leave(); /* the halted core would leave a device on the bus that answers nothing */
    __asm volatile("bkpt #251");
}
