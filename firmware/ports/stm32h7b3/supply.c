#include "board.h"
#include "reset.h"

/* Direct SMPS supply, as the board is wired. The choice is taken once after power-on and survives resets (RM0455, PWR:
   supply configuration control); out of power-on both LDOEN and SMPSEN are set. Until it is taken and the supply is
   ready, nothing may be written to any RAM, the stack too, and the voltage scale stays (RM0455, PWR: system supply
   startup): registers only, no variable in memory and no call. */
__attribute__((noreturn)) void supply_start(void) {
    const uint32_t mask = PWR_CR3_BYPASS | PWR_CR3_LDOEN | PWR_CR3_SMPSEN;
    if ((PWR_CR3 & mask) != PWR_CR3_SMPSEN) {
        modify(&PWR_CR3, mask, PWR_CR3_SMPSEN);
    }
    (void)wait_until(&PWR_CSR1, PWR_CSR1_ACTVOSRDY, PWR_CSR1_ACTVOSRDY, BOARD_READY_POLLS); /* clock.c looks again */
    __asm volatile("b reset_handler");
    __builtin_unreachable();
}
