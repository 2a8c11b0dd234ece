/* Everything a board implements for the agent. A port is one folder under ports/ with these functions and a memory.ld. */
#ifndef PORT_H
#define PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Clocks, memories' attributes, serial port, cycle counter and marker pin. Called once, before all the others. */
void port_init(void);

/* The board's name in the catalogue, at most 16 characters. */
const char *port_board_name(void);

/* The frequency that port_cycles() counts, in Hz, as the clock tree stands after port_init(). */
uint32_t port_clock_hz(void);

/* The processor's CPUID register. */
uint32_t port_cpuid(void);

/* Bytes that may arrive while nobody calls port_uart_read(), without loss. */
uint16_t port_rx_window(void);

/* What port_cycles() reads: a value of enum msg_counter. */
uint8_t port_counter(void);

/* A free-running count of cycles, modulo 2^32; it may stand still inside port_wait(). */
uint32_t port_cycles(void);

/* Let port_cycles() count again, from anywhere: a debugger that goes turns the trace unit off, and with it a counter in it. */
void port_counter_restart(void);

/* Drive the marker pin that the power meter triggers on. */
void port_marker(bool high);

/* Queue n bytes for the host; waits only while the queue is full. */
void port_uart_write(const uint8_t *bytes, size_t n);

/* Send n bytes by polling, with interrupts masked; for the fault handler, which can rely on nothing else. */
void port_uart_write_polled(const uint8_t *bytes, size_t n);

/* Take up to `capacity` received bytes; returns how many, 0 when there are none. */
size_t port_uart_read(uint8_t *bytes, size_t capacity);

/* Let at least `ms` milliseconds pass; asleep where a timer of the chip can end the sleep. Received bytes are kept. */
void port_sleep_ms(uint32_t ms);

/* Sleep until an interrupt, unless received bytes are waiting. */
void port_wait(void);

/* Whether the board has a boot loader of its own that the program can enter now; and enter it, from which there is no way back into the
   program. A port that leaves both out has none (no_boot_loader.c). */
bool port_has_boot_loader(void);
void port_enter_boot_loader(void);

/* Flash that the program can write while it runs, beside its image: for checkpoints. It is erased in pieces of `erase` bytes and programmed in
   units of `program` bytes, of which PORT_FLASH_BLOCK is a multiple; `size` is a multiple of 2 `erase`. A port that leaves these functions out has
   none (no_flash.c). */
#define PORT_FLASH_BLOCK 256u
typedef struct {
    uint32_t base;    /* address of the first byte */
    uint32_t size;    /* bytes; 0: there is none */
    uint32_t erase;   /* bytes, a multiple of `program` */
    uint32_t program; /* bytes */
} port_flash_t;
port_flash_t port_flash(void);

/* Erase the piece at an offset, or program the erased units from an offset on: n is a multiple of `program`, PORT_FLASH_BLOCK at most. False: the
   flash says that it failed. */
bool port_flash_erase(uint32_t offset);
bool port_flash_program(uint32_t offset, const uint8_t *bytes, size_t n);

/* Copy n bytes from an offset on; false: a power cut has left them unreadable. */
bool port_flash_read(uint32_t offset, uint8_t *bytes, size_t n);

#endif
