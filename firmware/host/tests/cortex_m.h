/* In the place of ports/common/cortex_m.h for ports/ticks/ticks.c: SysTick's registers, each access a call of the
   simulation in test_ticks.c. */
#pragma once

#include <stdint.h>

volatile uint32_t *systick_csr(void);
volatile uint32_t *systick_rvr(void);
volatile uint32_t *systick_cvr(void);
volatile uint32_t *systick_icsr(void);

#define SYST_CSR (*systick_csr())
#define SYST_RVR (*systick_rvr())
#define SYST_CVR (*systick_cvr())
#define SCB_ICSR (*systick_icsr())
#define SYST_CSR_ENABLE (1u << 0)
#define SYST_CSR_TICKINT (1u << 1)
#define SYST_CSR_CLKSOURCE (1u << 2)
#define ICSR_PENDSTSET (1u << 26)
