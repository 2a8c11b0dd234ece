/* Core registers and instructions of Armv7-M (ARM DDI 0403E.e: the architecture manual; sections in brackets), and what
   Armv8-M with the Main and Security Extensions adds (ARM DDI 0553B.l). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))

/* Change the masked bits of a register and leave all others as they are: reserved bits keep their reset value. */
static inline void modify(volatile uint32_t *reg, uint32_t mask, uint32_t value) {
    *reg = (*reg & ~mask) | value;
}

/* Whether the masked bits get this value within `polls` readings. */
static inline bool wait_until(volatile uint32_t *reg, uint32_t mask, uint32_t value, uint32_t polls) {
    for (; polls > 0; polls--) {
        if ((*reg & mask) == value) {
            return true;
        }
    }
    return false;
}

/* System control block [B3.2.2] */
#define SCB_CPUID REGISTER(0xE000ED00u)
#define SCB_ICSR REGISTER(0xE000ED04u)
#define SCB_VTOR REGISTER(0xE000ED08u)
#define SCB_CCR REGISTER(0xE000ED14u)
#define SCB_SHCSR REGISTER(0xE000ED24u)
#define SCB_CFSR REGISTER(0xE000ED28u)
#define SCB_MMFAR REGISTER(0xE000ED34u)
#define SCB_BFAR REGISTER(0xE000ED38u)
#define SCB_CPACR REGISTER(0xE000ED88u)

#define ICSR_PENDSTSET (1u << 26)
#define SHCSR_MEMFAULTENA (1u << 16)
#define SHCSR_BUSFAULTENA (1u << 17)
#define SHCSR_USGFAULTENA (1u << 18)
#define SHCSR_SECUREFAULTENA (1u << 19) /* Armv8-M */
#define CFSR_MMARVALID (1u << 7)
#define CFSR_BFARVALID (1u << 15)
#if defined(__ARM_ARCH_8M_MAIN__)
#define CFSR_STKOF (1u << 20)
#else
#define CFSR_STKOF 0u /* a reserved bit: there are no limits of stacks */
#endif
#define CCR_BFHFNMIGN (1u << 8)
#define CPACR_FPU_FULL_ACCESS (0xFu << 20)

/* Why a SecureFault came (Armv8-M) */
#define SAU_SFSR REGISTER(0xE000EDE4u)
#define SAU_SFAR REGISTER(0xE000EDE8u)
#define SFSR_SFARVALID (1u << 6)
#define SECURE_FAULT 7u

/* SysTick [B3.3] */
#define SYST_CSR REGISTER(0xE000E010u)
#define SYST_RVR REGISTER(0xE000E014u)
#define SYST_CVR REGISTER(0xE000E018u)
#define SYST_CSR_ENABLE (1u << 0)
#define SYST_CSR_TICKINT (1u << 1)
#define SYST_CSR_CLKSOURCE (1u << 2)

/* Nested vectored interrupt controller [B3.4] */
#define NVIC_ISER(irq) REGISTER(0xE000E100u + 4u * ((irq) / 32u))
#define NVIC_ISPR(irq) REGISTER(0xE000E200u + 4u * ((irq) / 32u))
#define NVIC_ICPR(irq) REGISTER(0xE000E280u + 4u * ((irq) / 32u))
#define NVIC_BIT(irq) (1u << ((irq) % 32u))

/* Debug and trace [C1.6.2, C1.6.5, C1.8]; the lock is CoreSight's and exists on Cortex-M7 (ARM DDI 0489, DWT) */
#define DHCSR REGISTER(0xE000EDF0u)
#define DHCSR_C_DEBUGEN (1u << 0) /* the core can read it, but not write it */
#define DEMCR REGISTER(0xE000EDFCu)
#define DWT_CTRL REGISTER(0xE0001000u)
#define DWT_CYCCNT REGISTER(0xE0001004u)
#define DWT_LAR REGISTER(0xE0001FB0u)
#define DEMCR_TRCENA (1u << 24)
#define DWT_CTRL_CYCCNTENA (1u << 0)
#define CORESIGHT_UNLOCK 0xC5ACCE55u

typedef void (*vector_t)(void);

/* An interrupt that becomes pending while masked still wakes the core from WFI [B1.5.19]. */
static inline void interrupts_mask(void) {
    __asm volatile("cpsid i" ::: "memory");
}

static inline void interrupts_unmask(void) {
    __asm volatile("cpsie i" ::: "memory");
}

/* The priority of a hard fault, which no interrupt has; not on Armv6-M [B1.4.3]. */
static inline void faults_mask(void) {
    __asm volatile("cpsid f" ::: "memory");
}

static inline void faults_unmask(void) {
    __asm volatile("cpsie f" ::: "memory");
}

static inline void wait_for_interrupt(void) {
    __asm volatile("dsb\n wfi" ::: "memory");
}

static inline void sleep_until(const volatile bool *rung) {
    while (!*rung) {
        interrupts_mask();
        if (!*rung) {
            wait_for_interrupt();
        }
        interrupts_unmask();
    }
}

static inline void barrier(void) {
    __asm volatile("dsb\n isb" ::: "memory");
}

static inline uint32_t exception_number(void) {
    uint32_t ipsr;
    __asm volatile("mrs %0, ipsr" : "=r"(ipsr));
    return ipsr;
}
