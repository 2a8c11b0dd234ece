/* Registers of nRF52840 that the port uses, by chapter of its Product Specification (v1.7) and register. A task is
   triggered by writing 1; an event reads 1 until software writes 0. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cortex_m.h"

/* CLOCK */
#define CLOCK_TASKS_HFCLKSTART REGISTER(0x40000000u)
#define CLOCK_EVENTS_HFCLKSTARTED REGISTER(0x40000100u)

/* Debug and trace: access port protection; FICR and UICR */
#define APPROTECT_DISABLE REGISTER(0x40000558u)
#define FICR_INFO_VARIANT REGISTER(0x10000104u)
#define UICR_APPROTECT REGISTER(0x10001208u)

/* NVMC */
#define NVMC_READY REGISTER(0x4001E400u)
#define NVMC_READY_READY (1u << 0)
#define NVMC_CONFIG REGISTER(0x4001E504u)
#define NVMC_CONFIG_READ 0u
#define NVMC_CONFIG_WRITE 1u
#define NVMC_CONFIG_ERASE 2u
#define NVMC_ERASEPAGE REGISTER(0x4001E508u)
#define NVMC_ICACHECNF REGISTER(0x4001E540u)
#define NVMC_ICACHECNF_CACHEEN (1u << 0)

/* The part of the flash that is for checkpoints: flash.c */
#define FLASH_OF_CHECKPOINTS 0x000C0000u
#define FLASH_OF_CHECKPOINTS_LOG2 18u

/* GPIO; P0 and P1 */
#define P0_OUTSET REGISTER(0x50000508u)
#define P0_PIN_CNF(pin) REGISTER(0x50000700u + 4u * (pin))
#define P1_OUTSET REGISTER(0x50000808u)
#define P1_OUTCLR REGISTER(0x5000080Cu)
#define P1_PIN_CNF(pin) REGISTER(0x50000A00u + 4u * (pin))
#define PIN_CNF_OUTPUT (1u << 0 | 1u << 1) /* input buffer disconnected */
#define PIN_CNF_INPUT_PULLED_UP (3u << 2)

/* UARTE, instance 0; interrupt 2 */
#define UARTE0_IRQ 2u
#define UARTE0_TASKS_STARTRX REGISTER(0x40002000u)
#define UARTE0_TASKS_STOPRX REGISTER(0x40002004u)
#define UARTE0_TASKS_STARTTX REGISTER(0x40002008u)
#define UARTE0_TASKS_FLUSHRX REGISTER(0x4000202Cu)
#define UARTE0_EVENTS_RXDRDY REGISTER(0x40002108u)
#define UARTE0_EVENTS_ENDRX REGISTER(0x40002110u)
#define UARTE0_EVENTS_ENDTX REGISTER(0x40002120u)
#define UARTE0_EVENTS_ERROR REGISTER(0x40002124u)
#define UARTE0_EVENTS_RXTO REGISTER(0x40002144u)
#define UARTE0_EVENTS_RXSTARTED REGISTER(0x4000214Cu)
#define UARTE0_SHORTS REGISTER(0x40002200u)
#define UARTE_SHORTS_ENDRX_STARTRX (1u << 5)
#define UARTE0_INTENSET REGISTER(0x40002304u)
#define UARTE0_INTENCLR REGISTER(0x40002308u)
#define UARTE_INT_ENDRX (1u << 4)
#define UARTE_INT_ENDTX (1u << 8)
#define UARTE_INT_ERROR (1u << 9)
#define UARTE_INT_RXSTARTED (1u << 19)
#define UARTE0_ERRORSRC REGISTER(0x40002480u)
#define UARTE_ERRORSRC_ALL 0xFu
#define UARTE0_ENABLE REGISTER(0x40002500u)
#define UARTE_ENABLE_ENABLED 8u
#define UARTE0_PSEL_TXD REGISTER(0x4000250Cu)
#define UARTE0_PSEL_RXD REGISTER(0x40002514u)
#define UARTE_PSEL(pin) (0x7FFFFFC0u | (pin)) /* connected to a pin of P0; reserved bits keep their reset value, 1 */
#define UARTE0_BAUDRATE REGISTER(0x40002524u)
#define UARTE_BAUDRATE_1M 0x10000000u
#define UARTE0_RXD_PTR REGISTER(0x40002534u)
#define UARTE0_RXD_MAXCNT REGISTER(0x40002538u)
#define UARTE0_TXD_PTR REGISTER(0x40002544u)
#define UARTE0_TXD_MAXCNT REGISTER(0x40002548u)

/* TIMER, instances 0 to 2 with interrupts 8 to 10 */
#define TIMER_IRQ(n) (8u + (n))
#define TIMER_REGISTER(n, offset) REGISTER(0x40008000u + 0x1000u * (n) + (offset))
#define TIMER_TASKS_START(n) TIMER_REGISTER(n, 0x000u)
#define TIMER_TASKS_COUNT(n) TIMER_REGISTER(n, 0x008u)
#define TIMER_TASKS_CLEAR(n) TIMER_REGISTER(n, 0x00Cu)
#define TIMER_TASKS_CAPTURE0(n) TIMER_REGISTER(n, 0x040u)
#define TIMER_EVENTS_COMPARE0(n) TIMER_REGISTER(n, 0x140u)
#define TIMER_SHORTS(n) TIMER_REGISTER(n, 0x200u)
#define TIMER_SHORTS_COMPARE0_CLEAR (1u << 0)
#define TIMER_SHORTS_COMPARE0_STOP (1u << 8)
#define TIMER_INTENSET(n) TIMER_REGISTER(n, 0x304u)
#define TIMER_INT_COMPARE0 (1u << 16)
#define TIMER_MODE(n) TIMER_REGISTER(n, 0x504u)
#define TIMER_MODE_COUNTER 2u /* "low power counter"; 1, Counter, is deprecated */
#define TIMER_BITMODE(n) TIMER_REGISTER(n, 0x508u)
#define TIMER_BITMODE_32 3u
#define TIMER_PRESCALER(n) TIMER_REGISTER(n, 0x510u)
#define TIMER_PRESCALER_1_MHZ 4u /* 16 MHz / 2^4 */
#define TIMER_CC0(n) TIMER_REGISTER(n, 0x540u)

/* PPI */
#define PPI_CHENSET REGISTER(0x4001F504u)
#define PPI_CH_EEP(n) REGISTER(0x4001F510u + 8u * (n))
#define PPI_CH_TEP(n) REGISTER(0x4001F514u + 8u * (n))
#define PPI_FORK_TEP(n) REGISTER(0x4001F910u + 4u * (n))
#define PPI_ADDRESS(reg) ((uint32_t)(uintptr_t)&(reg))

/* Application interrupt and reset control, of the processor (ARM DDI 0403E.e, B3.2.6) */
#define SCB_AIRCR REGISTER(0xE000ED0Cu)
#define AIRCR_SYSRESETREQ (0x05FAu << 16 | 1u << 2)

/* Take an event: whether it has happened since it was taken last. The read after the write keeps a handler from being
   entered again by a write that is still on its way (Product Specification, peripheral interface:
   interrupt clearing). */
static inline bool happened(volatile uint32_t *event) {
    if (*event == 0) {
        return false;
    }
    *event = 0;
    (void)*event;
    return true;
}
