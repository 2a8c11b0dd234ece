// Calls that are hard to follow: recursion, interrupt handlers, functions that handlers jump to, functions that use the
// cycle counter themselves. It runs without end, and prints nothing.

#include <stdint.h>

#define CYCCNT (*(volatile uint32_t *)0xE0001004)
#define DWT_CTRL (*(volatile uint32_t *)0xE0001000)
#define ICSR (*(volatile uint32_t *)0xE000ED04)
#define PENDSVSET (1u << 28)
#define NOINLINE __attribute__((noinline))

volatile uint32_t handled, lap;
volatile int sink;
volatile float area;
extern uint32_t __StackTop;

static void work(void) {
    for (volatile uint32_t i = 0; i < 1000; i++) {
    }
}

NOINLINE void plain(void) {
    work();
}

NOINLINE void times_a_lap(void) {
    work();
    lap = CYCCNT;
    CYCCNT = 0;
    work();
}

NOINLINE void stops_half_way(void) {
    DWT_CTRL |= 1u;
    work();
    DWT_CTRL &= ~1u;
    work();
    work();
}

NOINLINE void begins_without(void) {
    work();
    DWT_CTRL |= 1u;
}

NOINLINE int recur(int n) {
    int found = n <= 0 ? 100 : 1 + recur(n - 1);
    __asm__ volatile("" : "+r"(found));
    return found;
}

__attribute__((used)) NOINLINE int tail_of_handler(int n) {
    handled++;
    __asm__ volatile("");
    return n;
}

__attribute__((used)) NOINLINE int within_handler(int n) {
    __asm__ volatile("");
    return n + 7;
}

// It jumps to `tail_of_handler` at its end, as compilers make it of a last call.
__attribute__((naked)) void pendsv_handler(void) {
    __asm__ volatile("push {r4, lr}\n movs r0, #5\n bl within_handler\n pop {r4, lr}\n b tail_of_handler");
}

static NOINLINE void ask(void) {
    ICSR = PENDSVSET;
}

__attribute__((noreturn)) void Reset_Handler(void) {
#if __FPU_USED || defined(__ARM_FP)
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20; // CPACR: the floating-point unit, so that frames have its registers
#endif
    handled = 0;
    *(volatile uint32_t *)0xE000EDFC |= 1u << 24;
    *(volatile uint32_t *)0xE0001FB0 = 0xC5ACCE55u;
    for (;;) {
        DWT_CTRL |= 1u;
        plain();
        times_a_lap();
        stops_half_way();
        begins_without();
        sink = recur(2);
        area = area + 1.5f;
        ask();
        work();
    }
}

static void fault_handler(void) {
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static void (*const VECTORS[16])(void) = {
    (void (*)(void))&__StackTop,
    Reset_Handler,
    fault_handler,
    fault_handler,
    fault_handler,
    fault_handler,
    fault_handler,
    0,
    0,
    0,
    0,
    fault_handler,
    fault_handler,
    0,
    pendsv_handler,
    fault_handler,
};
