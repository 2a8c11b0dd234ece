/* What a controller under the USB device is for harness_usb.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NAK, STALL, DATA0, DATA1, ACK, SILENT };

/* The device is switched on, with a cable. */
void bus_start(void);

/* What the host does to the bus. Each is carried out with the interrupts that it causes. */
void bus_reset(void);
void bus_suspend(void);
void setup_token(const uint8_t packet[8]);

/* `acknowledged`: whether the host's ACK arrives. Both answer(). */
void in_token(uint8_t endpoint, bool acknowledged);
void out_token(uint8_t endpoint, bool data1, const uint8_t *bytes, size_t n);

/* The address at which the controller answers. */
uint8_t bus_address(void);

/* Interrupts that the program has caused meanwhile. */
void run_interrupts(void);

/* Commands that only this controller knows. */
void special(uint8_t what, uint8_t argument, const uint8_t *bytes);

/* What harness_usb.c has for a controller. */
void answer(uint8_t what, const uint8_t *bytes, size_t n);
void must(bool condition, const char *what);
