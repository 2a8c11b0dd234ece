/* The functions that a board implements for the agent. A port is one folder in ports/ with these functions and a
   memory.ld (docs/new-board.md). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Set up clocks, memory attributes, serial port, cycle counter and marker pin. Called once, before the others. */
void port_init(void);

/* The board's name in the catalogue, at most 16 characters. */
const char *port_board_name(void);

/* The frequency of port_cycles() in Hz, as port_init() has set the clock tree. */
uint32_t port_clock_hz(void);

/* The processor's CPUID register. */
uint32_t port_cpuid(void);

/* The number of bytes that may arrive between two calls of port_uart_read() without loss. */
uint16_t port_rx_window(void);

/* The counter that port_cycles() reads: a value of enum msg_counter. */
uint8_t port_counter(void);

/* A free-running count of cycles, modulo 2^32. It may stop inside port_wait(). */
uint32_t port_cycles(void);

/* Make port_cycles() count again, from any value. A debugger that disconnects turns the trace unit off, and a counter
   in it stops. */
void port_counter_restart(void);

/* Drive the marker pin that the power meter triggers on. */
void port_marker(bool high);

/* Queue n bytes for the host. Waits only while the queue is full. */
void port_uart_write(const uint8_t *bytes, size_t n);

/* Send n bytes by polling, with interrupts masked. For the fault handler, which cannot use the queue. */
void port_uart_write_polled(const uint8_t *bytes, size_t n);

/* Called again and again after a fault is reported, with interrupts masked: serve what has to be served even then. Only
   of a port whose port.mk defines PORT_AFTER_FAULT; the others sleep. */
void port_after_fault(void);

/* Read up to `capacity` received bytes. Returns how many were read, 0 when there are none. */
size_t port_uart_read(uint8_t *bytes, size_t capacity);

/* Wait at least `ms` milliseconds, asleep where a timer of the chip can end the sleep. Received bytes are kept. */
void port_sleep_ms(uint32_t ms);

/* Sleep until an interrupt, unless received bytes are waiting. */
void port_wait(void);

/* Whether the board has a boot loader that the program can enter now; and enter it, which does not return. A port
   without these two functions has none (optional_port.c). */
bool port_has_boot_loader(void);
void port_enter_boot_loader(void);

/* Flash beside the image that the program can write while it runs, for checkpoints. It is erased in pieces of `erase`
   bytes and programmed in units of `program` bytes. PORT_FLASH_BLOCK is a multiple of `program`; `size` is a multiple
   of 2 * `erase`. A port without these functions has no such flash (optional_port.c). */
#define PORT_FLASH_BLOCK 256u
typedef struct {
    uint32_t base;    /* address of the first byte */
    uint32_t size;    /* bytes; 0: there is none */
    uint32_t erase;   /* bytes, a multiple of `program` */
    uint32_t program; /* bytes */
} port_flash_t;
port_flash_t port_flash(void);

/* Erase the piece at an offset, or program n bytes of erased flash from an offset on; n is a multiple of `program` and
   at most PORT_FLASH_BLOCK. Return false when the flash reports a failure. */
bool port_flash_erase(uint32_t offset);
bool port_flash_program(uint32_t offset, const uint8_t *bytes, size_t n);

/* Copy n bytes from an offset on. Returns false when a power cut has left them unreadable. */
bool port_flash_read(uint32_t offset, uint8_t *bytes, size_t n);
