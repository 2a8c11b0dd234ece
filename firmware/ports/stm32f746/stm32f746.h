/* Registers of STM32F746 that the port uses, from RM0385 (the reference manual of STM32F74x and STM32F75x), by chapter
   and register. */
#pragma once

#include "stm32.h"

/* Embedded flash memory, FLASH registers */
#define FLASH_ACR REGISTER(0x40023C00u)
#define FLASH_ACR_LATENCY_MASK (0xFu << 0)
#define FLASH_KEYR REGISTER(0x40023C04u)
#define FLASH_KEY_1 0x45670123u
#define FLASH_KEY_2 0xCDEF89ABu
#define FLASH_SR REGISTER(0x40023C0Cu)
#define FLASH_SR_EOP (1u << 0)
#define FLASH_SR_ERRORS (1u << 1 | 0xFu << 4) /* operation, write protection, alignment, parallelism, sequence */
#define FLASH_SR_BSY (1u << 16)
#define FLASH_CR REGISTER(0x40023C10u)
#define FLASH_CR_PG (1u << 0)
#define FLASH_CR_SER (1u << 1)
#define FLASH_CR_SNB(sector) ((uint32_t)(sector) << 3)
#define FLASH_CR_PSIZE_32 (2u << 8)
#define FLASH_CR_STRT (1u << 16)
#define FLASH_CR_LOCK (1u << 31)

/* Power controller, PWR registers */
#define PWR_CR1 REGISTER(0x40007000u)
#define PWR_CR1_VOS_MASK (3u << 14)
#define PWR_CR1_VOS_SCALE_1 (3u << 14)
#define PWR_CR1_ODEN (1u << 16)
#define PWR_CR1_ODSWEN (1u << 17)
#define PWR_CSR1 REGISTER(0x40007004u)
#define PWR_CSR1_ODRDY (1u << 16)
#define PWR_CSR1_ODSWRDY (1u << 17)

/* Reset and clock control, RCC registers */
#define RCC_CR REGISTER(0x40023800u)
#define RCC_CR_HSEON (1u << 16)
#define RCC_CR_HSERDY (1u << 17)
#define RCC_CR_PLLON (1u << 24)
#define RCC_CR_PLLRDY (1u << 25)
#define RCC_PLLCFGR REGISTER(0x40023804u)
#define RCC_PLLCFGR_M_MASK (0x3Fu << 0)
#define RCC_PLLCFGR_M(m) ((m) << 0)
#define RCC_PLLCFGR_N_MASK (0x1FFu << 6)
#define RCC_PLLCFGR_N(n) ((n) << 6)
#define RCC_PLLCFGR_P_MASK (3u << 16)
#define RCC_PLLCFGR_P(p) (((p) / 2u - 1u) << 16)
#define RCC_PLLCFGR_SRC_HSE (1u << 22)
#define RCC_PLLCFGR_Q_MASK (0xFu << 24)
#define RCC_PLLCFGR_Q(q) ((q) << 24)
#define RCC_CFGR REGISTER(0x40023808u)
#define RCC_CFGR_SW_MASK (3u << 0)
#define RCC_CFGR_SW_PLL (2u << 0)
#define RCC_CFGR_SWS_MASK (3u << 2)
#define RCC_CFGR_SWS_PLL (2u << 2)
#define RCC_CFGR_HPRE_MASK (0xFu << 4)
#define RCC_CFGR_PPRE1_MASK (7u << 10)
#define RCC_CFGR_PPRE1_4 (5u << 10)
#define RCC_CFGR_PPRE2_MASK (7u << 13)
#define RCC_CFGR_PPRE2_2 (4u << 13)
#define RCC_AHB1ENR REGISTER(0x40023830u)
#define RCC_GPIO_ENR RCC_AHB1ENR /* bit n for port n */
#define RCC_AHB1ENR_DMA2EN (1u << 22)
#define RCC_APB1ENR REGISTER(0x40023840u)
#define RCC_APB1ENR_PWREN (1u << 28)
#define RCC_APB2ENR REGISTER(0x40023844u)
#define RCC_APB2ENR_USART1EN (1u << 4)

#define GPIO_BASE 0x40020000u /* General-purpose I/Os, GPIO registers */

/* Direct memory access controller, DMA registers; interrupts 56 to 60 and 68 to 70 are those of the streams of DMA2 */
#define DMA2_LIFCR REGISTER(0x40026408u)
#define DMA2_HIFCR REGISTER(0x4002640Cu)
#define DMA_STREAM_2_FLAGS (0x3Du << 16) /* in LIFCR */
#define DMA_STREAM_7_FLAGS (0x3Du << 22) /* in HIFCR */
#define DMA2_CR(stream) REGISTER(0x40026410u + 0x18u * (stream))
#define DMA_CR_TO_PERIPHERAL (1u << 6)
#define DMA_CR_CHANNEL(channel) ((channel) << 25)
#define DMA2_NDTR(stream) REGISTER(0x40026414u + 0x18u * (stream))
#define DMA2_PAR(stream) REGISTER(0x40026418u + 0x18u * (stream))
#define DMA2_M0AR(stream) REGISTER(0x4002641Cu + 0x18u * (stream))
#define DMA2_STREAM_2_IRQ 58u
#define DMA2_STREAM_7_IRQ 70u

/* Universal synchronous/asynchronous receiver transmitter, USART registers */
#define USART_CR3_DMAT (1u << 7)
