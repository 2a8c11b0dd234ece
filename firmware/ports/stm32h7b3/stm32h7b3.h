/* Registers of STM32H7B3 that the port uses, from RM0455 (the reference manual of STM32H7A3/7B3 and STM32H7B0), by
   chapter and register. */
#pragma once

#include "stm32.h"

/* Embedded flash memory, FLASH registers */
#define FLASH_ACR REGISTER(0x52002000u)
#define FLASH_ACR_LATENCY_MASK (0xFu << 0)
#define FLASH_ACR_WRHIGHFREQ_MASK (3u << 4)
#define FLASH_KEYR2 REGISTER(0x52002104u)
#define FLASH_KEY_1 0x45670123u
#define FLASH_KEY_2 0xCDEF89ABu
#define FLASH_CR2 REGISTER(0x5200210Cu)
#define FLASH_CR_LOCK (1u << 0)
#define FLASH_CR_PG (1u << 1)
#define FLASH_CR_SER (1u << 2)
#define FLASH_CR_START (1u << 5)
#define FLASH_CR_SSN(sector) ((uint32_t)(sector) << 6)
#define FLASH_SR2 REGISTER(0x52002110u)
#define FLASH_SR_BSY (1u << 0)
#define FLASH_SR_WBNE (1u << 1)
#define FLASH_SR_QW (1u << 2)
#define FLASH_SR_EOP (1u << 16)
#define FLASH_SR_DBECCERR (1u << 26)
#define FLASH_SR_ERRORS                                                                                                \
    (1u << 17 | 1u << 18 | 1u << 19 | 1u << 21 |                                                                       \
     FLASH_SR_DBECCERR) /* write protection, sequence, strobe, inconsistency */
#define FLASH_CCR2 REGISTER(0x52002114u)

/* Power control, PWR registers */
#define PWR_CSR1 REGISTER(0x58024804u)
#define PWR_CSR1_ACTVOSRDY (1u << 13)
#define PWR_CR3 REGISTER(0x5802480Cu)
#define PWR_CR3_BYPASS (1u << 0)
#define PWR_CR3_LDOEN (1u << 1)
#define PWR_CR3_SMPSEN (1u << 2)
#define PWR_SRDCR REGISTER(0x58024818u)
#define PWR_SRDCR_VOSRDY (1u << 13)
#define PWR_SRDCR_VOS_MASK (3u << 14)
#define PWR_SRDCR_VOS1 (2u << 14)
#define PWR_SRDCR_VOS0 (3u << 14)

/* Reset and clock control, RCC registers */
#define RCC_CR REGISTER(0x58024400u)
#define RCC_CR_HSEON (1u << 16)
#define RCC_CR_HSERDY (1u << 17)
#define RCC_CR_PLL1ON (1u << 24)
#define RCC_CR_PLL1RDY (1u << 25)
#define RCC_CFGR REGISTER(0x58024410u)
#define RCC_CFGR_SW_MASK (7u << 0)
#define RCC_CFGR_SW_PLL1 (3u << 0)
#define RCC_CFGR_SWS_MASK (7u << 3)
#define RCC_CFGR_SWS_PLL1 (3u << 3)
#define RCC_CDCFGR1 REGISTER(0x58024418u)
#define RCC_CDCFGR1_HPRE_MASK (0xFu << 0)
#define RCC_CDCFGR1_CDPPRE_MASK (7u << 4)
#define RCC_CDCFGR1_CDPPRE_2 (4u << 4)
#define RCC_CDCFGR1_CDCPRE_MASK (0xFu << 8)
#define RCC_CDCFGR2 REGISTER(0x5802441Cu)
#define RCC_CDCFGR2_CDPPRE1_MASK (7u << 4)
#define RCC_CDCFGR2_CDPPRE1_2 (4u << 4)
#define RCC_CDCFGR2_CDPPRE2_MASK (7u << 8)
#define RCC_CDCFGR2_CDPPRE2_2 (4u << 8)
#define RCC_SRDCFGR REGISTER(0x58024420u)
#define RCC_SRDCFGR_SRDPPRE_MASK (7u << 4)
#define RCC_SRDCFGR_SRDPPRE_2 (4u << 4)
#define RCC_PLLCKSELR REGISTER(0x58024428u)
#define RCC_PLLCKSELR_PLLSRC_MASK (3u << 0)
#define RCC_PLLCKSELR_PLLSRC_HSE (2u << 0)
#define RCC_PLLCKSELR_DIVM1_MASK (0x3Fu << 4)
#define RCC_PLLCKSELR_DIVM1(m) ((m) << 4)
#define RCC_PLLCFGR REGISTER(0x5802442Cu)
#define RCC_PLLCFGR_PLL1FRACEN (1u << 0)
#define RCC_PLLCFGR_PLL1VCOSEL (1u << 1)
#define RCC_PLLCFGR_PLL1RGE_MASK (3u << 2)
#define RCC_PLLCFGR_PLL1RGE_8_16_MHZ (3u << 2)
#define RCC_PLLCFGR_DIVP1EN (1u << 16)
#define RCC_PLL1DIVR REGISTER(0x58024430u)
#define RCC_PLL1DIVR_N1_MASK (0x1FFu << 0)
#define RCC_PLL1DIVR_N1(n) (((n) - 1u) << 0)
#define RCC_PLL1DIVR_P1_MASK (0x7Fu << 9)
#define RCC_PLL1DIVR_P1(p) (((p) - 1u) << 9)
#define RCC_AHB1ENR REGISTER(0x58024538u)
#define RCC_AHB1ENR_DMA1EN (1u << 0) /* and DMAMUX1 */
#define RCC_AHB2ENR REGISTER(0x5802453Cu)
#define RCC_AHB2ENR_AHBSRAM1EN (1u << 29)
#define RCC_GPIO_ENR REGISTER(0x58024540u) /* RCC_AHB4ENR: bit n for port n */
#define RCC_APB2ENR REGISTER(0x58024550u)
#define RCC_APB2ENR_USART1EN (1u << 4)

#define GPIO_BASE 0x58020000u /* General-purpose I/Os, GPIO registers */

/* Direct memory access controller, DMA registers; interrupt 11 is that of stream 0 of DMA1 (NVIC, vector table) */
#define DMA1_STREAM_0_IRQ 11u
#define DMA1_LIFCR REGISTER(0x40020008u)
#define DMA_STREAM_0_FLAGS (0x3Du << 0) /* in LIFCR */
#define DMA1_CR(stream) REGISTER(0x40020010u + 0x18u * (stream))
#define DMA_CR_TRBUFF (1u << 20)
#define DMA1_NDTR(stream) REGISTER(0x40020014u + 0x18u * (stream))
#define DMA1_PAR(stream) REGISTER(0x40020018u + 0x18u * (stream))
#define DMA1_M0AR(stream) REGISTER(0x4002001Cu + 0x18u * (stream))

/* DMA request multiplexer, DMAMUX1 registers: channel n serves stream n of DMA1 */
#define DMAMUX1_CCR(channel) REGISTER(0x40020800u + 4u * (channel))
#define DMAMUX1_USART1_RX 41u

/* Universal synchronous/asynchronous receiver transmitter, USART registers */
#define USART_CR1_FIFOEN (1u << 29)
#define USART_CR3_TXFTIE (1u << 23)
#define USART_CR3_TXFTCFG_MASK (7u << 29)
#define USART_CR3_TXFTCFG_7_8 (4u << 29)
