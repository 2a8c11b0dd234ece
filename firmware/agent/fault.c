#include "agent/fault.h"

#include "agent/memory.h"
#include "agent/port.h"
#include "cortex_m.h"

/* Words that the processor stacks on exception entry (ARM DDI 0403E.e, B1.5.6; ARM DDI 0553B.l, context stacking). */
enum { FRAME_LR = 5, FRAME_PC = 6, FRAME_WORDS = 8 };

static const link_t *watched;

/* The handler's own stack: what faulted may have been the other one's overflow. */
__attribute__((used, aligned(8))) static uint8_t fault_stack[512];

void fault_watch(const link_t *link) {
    watched = link;
}

/* Armv6-M does not tell why (ARM DDI 0419, B3.2). Of a SecureFault SFSR tells, not CFSR. */
static void put_cause(msg_fault_t *fault) {
#if defined(__ARM_ARCH_8M_MAIN__)
    if (fault->kind == SECURE_FAULT) {
        fault->cfsr = SAU_SFSR;
        fault->address = (fault->cfsr & SFSR_SFARVALID) != 0 ? SAU_SFAR : 0;
        return;
    }
#endif
#if __ARM_ARCH >= 7
    const uint32_t cfsr = SCB_CFSR;
    fault->cfsr = cfsr;
    fault->address = (cfsr & CFSR_MMARVALID) != 0 ? SCB_MMFAR : (cfsr & CFSR_BFARVALID) != 0 ? SCB_BFAR : 0;
#else
    (void)fault;
#endif
}

/* Where the stack has a limit, a frame that does not fit is not written, and the stack pointer becomes the limit
   (ARM DDI 0553B.l, stack limit checks). */
static bool on_stack(const uint32_t *frame, uint32_t cfsr) {
    const memory_range_t stack = memory_stack();
    const uintptr_t base = (uintptr_t)stack.base;
    const uintptr_t address = (uintptr_t)frame;
    if ((cfsr & CFSR_STKOF) != 0 && address == base) {
        return false;
    }
    return address >= base && address + FRAME_WORDS * sizeof *frame <= base + stack.size;
}

__attribute__((noreturn, used)) static void fault_report(const uint32_t *stacked) {
    interrupts_mask();
    msg_fault_t fault = {.kind = (uint8_t)exception_number()};
    put_cause(&fault);
    if (on_stack(stacked, fault.cfsr)) {
        fault.pc = stacked[FRAME_PC];
        fault.lr = stacked[FRAME_LR];
    }
    const uint8_t session = watched != NULL ? watched->session : 0;
    const uint16_t seq = watched != NULL ? watched->last_good : 0;
    /* A zero first: the fault may have cut a frame short. */
    port_uart_write_polled(&(const uint8_t){0}, 1);
    link_send(port_uart_write_polled, MSG_FAULT, session, seq, &fault, sizeof fault);
    for (;;) {
#ifdef PORT_AFTER_FAULT
        port_after_fault();
#else
        wait_for_interrupt();
#endif
    }
}

__attribute__((naked)) void fault_handler(void) {
    __asm volatile(
        "mrs r0, msp\n"
        "ldr r1, =fault_stack + %c0\n"
        "mov sp, r1\n"
        "b fault_report\n"
        ".ltorg\n"
        :
        : "i"(sizeof fault_stack));
}
