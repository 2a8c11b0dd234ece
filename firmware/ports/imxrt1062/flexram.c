#include "board.h"

#include <stdint.h>

#include "imxrt1062.h"
#include "reset.h"

/* Two banks ITCM (11b; nothing of this program, but a debugger's flash algorithm needs some), two DTCM (10b), twelve
   OCRAM (01b), which lies right after the 512 KB of OCRAM2: one arena of 896 KB. The fuses say 128, 128 and 256 KB
   (IMXRT1060RM, FlexRAM; AN12077). */
enum {
    BANKS = 0x555555AF,
    /* CM7_CFGDTCMSZ and CM7_CFGITCMSZ: 7 means 64 KB each (GPR14) */
    SIZES = 0x00770000,
    /* CM7_INIT_VTOR stays at the boot ROM, both TCMs stay on; bit 2: the banks are as GPR17 says, not as the fuses
       (GPR16) */
    SELECT = 0x00200007,
};

/* What a bank held is lost, and where the stack lies there may be none for a moment: registers only, no memory
   (AN12077, 3.1.3). A reset by software keeps these registers, so this may find its own work done. */
__attribute__((naked, noreturn)) void flexram_start(void) {
    __asm volatile(
        "ldr r0, =%c[gpr]\n"
        "ldr r1, =%c[banks]\n"
        "str r1, [r0, %[at17]]\n"
        "ldr r1, =%c[select]\n"
        "str r1, [r0, %[at16]]\n"
        "ldr r1, =%c[sizes]\n"
        "str r1, [r0, %[at14]]\n"
        "dsb\n"
        "isb\n"
        "b reset_handler\n"
        ".ltorg\n"
        :
        : [gpr] "i"(GPR_ADDRESS), [banks] "i"(BANKS), [select] "i"(SELECT), [sizes] "i"(SIZES), [at17] "i"(GPR17_AT),
          [at16] "i"(GPR16_AT), [at14] "i"(GPR14_AT));
}
