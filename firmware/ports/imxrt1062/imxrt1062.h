/* Registers of i.MX RT1062 that the port uses, by chapter of IMXRT1060RM. Addresses, bits and reset values were read in
   NXP's SVD file (MIMXRT1062.xml) and device header; the manual itself could not be read here: what is cited of its
   text is `unverified`. */
#pragma once

#include <stdint.h>

#include "cortex_m.h"

#define REGISTER8(address) (*(volatile uint8_t *)(address))
#define REGISTER16(address) (*(volatile uint16_t *)(address))

/* DCDC converter */
#define DCDC_REG0 REGISTER(0x40080000u)
#define DCDC_REG0_STS_DC_OK (1u << 31)
#define DCDC_REG3 REGISTER(0x4008000Cu)
#define DCDC_REG3_TRG_MASK 0x1Fu
#define DCDC_REG3_TRG(millivolt) (((millivolt) - 800u) / 25u)

/* IOMUX controller, general purpose registers */
#define GPR_ADDRESS 0x400AC000u
#define GPR1 REGISTER(GPR_ADDRESS + 0x04u)
#define GPR1_CM7_FORCE_HCLK_EN (1u << 31)
enum { GPR14_AT = 0x38, GPR16_AT = 0x40, GPR17_AT = 0x44 };

/* Watchdogs: WDOG1 and WDOG2 have registers of 16 bits, RTWDOG (WDOG3) of 32 */
#define WDOG1 0x400B8000u
#define WDOG2 0x400D0000u
#define WDOG_WCR(watchdog) REGISTER16(watchdog)
#define WDOG_WCR_WDE ((uint16_t)(1u << 2))
#define WDOG_WMCR(watchdog) REGISTER16((watchdog) + 8u)
#define RTWDOG_CS REGISTER(0x400BC000u)
#define RTWDOG_CS_UPDATE (1u << 5)
#define RTWDOG_CS_EN (1u << 7)
#define RTWDOG_CNT REGISTER(0x400BC004u)
#define RTWDOG_UNLOCK 0xD928C520u
#define RTWDOG_TOVAL REGISTER(0x400BC008u)

/* CCM analog: PLLs and references */
#define PLL_ARM REGISTER(0x400D8000u)
#define PLL_ARM_DIV_MASK 0x7Fu
#define PLL_ARM_POWERDOWN (1u << 12)
#define PLL_ARM_ENABLE (1u << 13)
#define PLL_ARM_BYPASS (1u << 16)
#define PLL_ARM_LOCK (1u << 31)
#define PLL_USB1_SET REGISTER(0x400D8014u)
#define PLL_USB1_EN_USB_CLKS (1u << 6)
#define PMU_REG_3P0_SET REGISTER(0x400D8124u) /* 3.0 V out of the cable's 5 V, for the PHY of USB */
#define PMU_REG_3P0_ENABLE_LINREG (1u << 0)
#define MISC0_SET REGISTER(0x400D8154u)
#define MISC0_REFTOP_SELFBIASOFF (1u << 3)

/* CCM: clock tree and gates */
#define CCM_CACRR REGISTER(0x400FC010u)
#define CCM_CACRR_ARM_PODF_MASK 7u
#define CCM_CBCDR REGISTER(0x400FC014u)
#define CCM_CBCDR_IPG_PODF_MASK (3u << 8)
#define CCM_CBCDR_IPG_PODF(divider) (((divider) - 1u) << 8)
#define CCM_CBCDR_AHB_PODF_MASK (7u << 10)
#define CCM_CBCDR_SEMC_PODF_MASK (7u << 16)
#define CCM_CBCDR_SEMC_PODF(divider) (((divider) - 1u) << 16)
#define CCM_CBCDR_PERIPH_CLK_SEL (1u << 25)
#define CCM_CBCDR_PERIPH_CLK2_PODF_MASK (7u << 27)
#define CCM_CBCMR REGISTER(0x400FC018u)
#define CCM_CBCMR_PERIPH_CLK2_SEL_MASK (3u << 12)
#define CCM_CBCMR_PERIPH_CLK2_SEL_OSC (1u << 12)
#define CCM_CBCMR_PRE_PERIPH_CLK_SEL_MASK (3u << 18)
#define CCM_CBCMR_PRE_PERIPH_CLK_SEL_PLL1 (3u << 18)
#define CCM_CSCDR1 REGISTER(0x400FC024u)
#define CCM_CSCDR1_UART_CLK_PODF_MASK 0x3Fu
#define CCM_CSCDR1_UART_CLK_SEL_OSC (1u << 6)
#define CCM_CDHIPR REGISTER(0x400FC048u)
#define CCM_CLPCR REGISTER(0x400FC054u)
#define CCM_CLPCR_LPM_MASK 3u
#define CCM_CCGR2 REGISTER(0x400FC070u)
#define CCM_CCGR2_OCOTP (3u << 12)
#define CCM_CCGR3 REGISTER(0x400FC074u)
#define CCM_CCGR3_LPUART6 (3u << 6)
#define CCM_CCGR3_GPIO4 (3u << 12)
#define CCM_CCGR4 REGISTER(0x400FC078u)
#define CCM_CCGR4_IOMUXC (3u << 2)
#define CCM_CCGR4_IOMUXC_GPR (3u << 4)
#define CCM_CCGR5 REGISTER(0x400FC07Cu)
#define CCM_CCGR5_DMA (3u << 6)
#define CCM_CCGR6 REGISTER(0x400FC080u)
#define CCM_CCGR6_USB (3u << 0)
#define CCM_CCGR6_DCDC (3u << 6)

/* Fuses, as their shadow registers have them */
#define OCOTP_MAC0 REGISTER(0x401F4620u)

/* PHY of USB 1 */
#define USBPHY1_PWD REGISTER(0x400D9000u)
#define USBPHY1_CTRL_CLR REGISTER(0x400D9038u)
#define USBPHY_CTRL_CLKGATE (1u << 30)
#define USBPHY_CTRL_SFTRST (1u << 31)

/* USB 1. What is a flag in USBSTS, OTGSC, ENDPTSETUPSTAT and ENDPTCOMPLETE ends where a one is written. */
#define USB_IRQ 113u
#define USB1_USBCMD REGISTER(0x402E0140u)
#define USBCMD_RS (1u << 0)
#define USBCMD_RST (1u << 1)
#define USBCMD_SUTW (1u << 13)
#define USB1_USBSTS REGISTER(0x402E0144u)
#define USB1_USBINTR REGISTER(0x402E0148u)
#define USB_INT_TRANSFER (1u << 0)
#define USB_INT_ERROR (1u << 1)
#define USB_INT_RESET (1u << 6)
#define USB_INT_SUSPEND (1u << 8)
#define USB1_DEVICEADDR REGISTER(0x402E0154u)
#define DEVICEADDR_ADDRESS(address) ((address) << 25)
#define USB1_ENDPTLISTADDR REGISTER(0x402E0158u)
#define USB1_PORTSC1 REGISTER(0x402E0184u)
#define PORTSC1_PR (1u << 8)
#define PORTSC1_HSP (1u << 9)
#define USB1_OTGSC REGISTER(0x402E01A4u)
#define OTGSC_OT (1u << 3) /* must be set of a device */
#define OTGSC_BSV (1u << 11)
#define OTGSC_EVENTS (0x7Fu << 16)
#define OTGSC_BSVIS (1u << 19)
#define OTGSC_BSVIE (1u << 27)
#define USB1_USBMODE REGISTER(0x402E01A8u)
#define USBMODE_DEVICE (2u << 0)
#define USBMODE_SLOM (1u << 3) /* SETUP packets are taken at any time, and read with the help of SUTW */
#define USB1_ENDPTSETUPSTAT REGISTER(0x402E01ACu)
#define USB1_ENDPTPRIME REGISTER(0x402E01B0u)
#define USB1_ENDPTFLUSH REGISTER(0x402E01B4u)
#define USB1_ENDPTSTAT REGISTER(0x402E01B8u)
#define USB1_ENDPTCOMPLETE REGISTER(0x402E01BCu)
#define USB1_ENDPTCTRL(number) REGISTER(0x402E01C0u + 4u * (number))
#define ENDPTCTRL_STALL (1u << 0) /* of OUT; 16 bits above them those of IN */
#define ENDPTCTRL_BULK (2u << 2)
#define ENDPTCTRL_INTERRUPT (3u << 2)
#define ENDPTCTRL_RESET_TOGGLE (1u << 6)
#define ENDPTCTRL_ENABLE (1u << 7)

/* eDMA and its request multiplexer */
#define DMA_CERQ REGISTER8(0x400E801Au)
#define DMA_SERQ REGISTER8(0x400E801Bu)
#define DMA_INT REGISTER(0x400E8024u)
#define DMA_TCD(channel, offset) (0x400E9000u + 0x20u * (channel) + (offset))
#define TCD_SADDR(channel) REGISTER(DMA_TCD(channel, 0x00u))
#define TCD_SOFF(channel) REGISTER16(DMA_TCD(channel, 0x04u))
#define TCD_ATTR(channel) REGISTER16(DMA_TCD(channel, 0x06u))
#define TCD_NBYTES(channel) REGISTER(DMA_TCD(channel, 0x08u))
#define TCD_SLAST(channel) REGISTER(DMA_TCD(channel, 0x0Cu))
#define TCD_DADDR(channel) REGISTER(DMA_TCD(channel, 0x10u))
#define TCD_DOFF(channel) REGISTER16(DMA_TCD(channel, 0x14u))
#define TCD_CITER(channel) REGISTER16(DMA_TCD(channel, 0x16u))
#define TCD_DLASTSGA(channel) REGISTER(DMA_TCD(channel, 0x18u))
#define TCD_CSR(channel) REGISTER16(DMA_TCD(channel, 0x1Cu))
#define TCD_BITER(channel) REGISTER16(DMA_TCD(channel, 0x1Eu))
enum { TCD_ATTR_BYTES = 0, TCD_CSR_INTMAJOR = 1 << 1, TCD_CSR_INTHALF = 1 << 2, TCD_CSR_DREQ = 1 << 3 };
#define DMAMUX_CHCFG(channel) REGISTER(0x400EC000u + 4u * (channel))
#define DMAMUX_ENBL (1u << 31)
enum { DMAMUX_LPUART6_TX = 70, DMAMUX_LPUART6_RX = 71 };

/* LPUART */
#define LPUART6_IRQ 25u
#define LPUART6 0x40198000u
#define LPUART6_GLOBAL REGISTER(LPUART6 + 0x08u)
#define LPUART_GLOBAL_RST (1u << 1)
#define LPUART6_BAUD REGISTER(LPUART6 + 0x10u)
#define LPUART_BAUD_RDMAE (1u << 21)
#define LPUART_BAUD_TDMAE (1u << 23)
#define LPUART_BAUD_OSR(samples) (((samples) - 1u) << 24)
#define LPUART6_STAT REGISTER(LPUART6 + 0x14u)
#define LPUART_STAT_EVENTS (0x1Fu << 16) /* IDLE, OR, NF, FE, PF; each is cleared by writing it as 1 */
#define LPUART_STAT_RDRF (1u << 21)      /* more words in the FIFO than WATER asks for, which is none */
#define LPUART_STAT_TDRE (1u << 23)
#define LPUART6_CTRL REGISTER(LPUART6 + 0x18u)
#define LPUART_CTRL_ILT (1u << 2) /* silence is counted from the stop bit */
#define LPUART_CTRL_RE (1u << 18)
#define LPUART_CTRL_TE (1u << 19)
#define LPUART_CTRL_ILIE (1u << 20)
#define LPUART_CTRL_RIE (1u << 21)
#define LPUART6_DATA REGISTER(LPUART6 + 0x1Cu)
#define LPUART6_FIFO REGISTER(LPUART6 + 0x28u)
#define LPUART_FIFO_RXFE (1u << 3)
#define LPUART_FIFO_TXFE (1u << 7)
#define LPUART6_WATER REGISTER(LPUART6 + 0x2Cu)
#define LPUART_WATER_TX(words) (words)

/* GPIO */
#define GPIO4 0x401C4000u
#define GPIO_GDIR(port) REGISTER((port) + 0x04u)
#define GPIO_DR_SET(port) REGISTER((port) + 0x84u)
#define GPIO_DR_CLEAR(port) REGISTER((port) + 0x88u)

/* IOMUX controller: what a pad is for, and its driver */
#define MUX_GPIO_EMC_04 REGISTER(0x401F8024u)
#define MUX_GPIO_AD_B0_02 REGISTER(0x401F80C4u)
#define MUX_GPIO_AD_B0_03 REGISTER(0x401F80C8u)
enum { MUX_ALT2_LPUART6 = 2, MUX_ALT5_GPIO = 5 };
#define PAD_GPIO_AD_B0_03 REGISTER(0x401F82B8u)
#define PAD_HYSTERESIS (1u << 16)
#define PAD_PULL_UP_100K (2u << 14 | 1u << 13 | 1u << 12)
#define PAD_MEDIUM (2u << 6 | 6u << 3) /* speed and drive strength as after reset */
#define LPUART6_RX_SELECT REGISTER(0x401F8550u)
#define LPUART6_TX_SELECT REGISTER(0x401F8554u)

/* Open clock gates. CCM and what it feeds may be behind different bridges: the read back waits for the write. */
static inline void open_gates(volatile uint32_t *gates, uint32_t bits) {
    *gates |= bits;
    (void)*gates;
}
