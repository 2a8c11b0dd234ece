#include "reset.h"

#include <string.h>

#include "agent/memory.h"
#include "cortex_m.h"

extern uint32_t __stack_bottom[];
extern uint8_t __vectors[], __data_load[], __data_start[], __data_end[], __bss_start[], __bss_end[];

int main(void);

void reset_handler(void) {
    SCB_VTOR = (uint32_t)(uintptr_t)__vectors;
#if __ARM_ARCH >= 7 /* Armv6-M has no FPU, and HardFault for every fault */
    SCB_CPACR |= CPACR_FPU_FULL_ACCESS;
    SCB_SHCSR |= SHCSR_MEMFAULTENA | SHCSR_BUSFAULTENA | SHCSR_USGFAULTENA;
#endif
#if defined(__ARM_ARCH_8M_MAIN__)
    /* A stack pointer below its limit is a UsageFault (STKOF), before anything is written there. */
    SCB_SHCSR |= SHCSR_SECUREFAULTENA;
    __asm volatile("msr msplim, %0" : : "r"(__stack_bottom));
#endif
    barrier();
    memory_paint_stack();
    memcpy(__data_start, __data_load, (size_t)(__data_end - __data_start));
    memset(__bss_start, 0, (size_t)(__bss_end - __bss_start));
    (void)main();
}
