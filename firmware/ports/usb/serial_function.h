/* The serial port on USB, between the packets of the bulk endpoints and the rings of serial.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What device.c calls. */

/* The host has configured the device; or it no longer is: the rings are the UART's again. */
void serial_function_open(void);
void serial_function_close(void);

/* The bytes of GET_LINE_CODING (PSTN 1.2, 6.3.11), and those that SET_LINE_CODING brings. */
enum { LINE_CODING_SIZE = 7 };
const uint8_t *serial_function_line_coding(void);
void serial_function_set_line_coding(const volatile uint8_t *coding);

/* SET_CONTROL_LINE_STATE: bit 0 is DTR. */
void serial_function_set_lines(uint16_t lines);

/* A control transfer is over, and the host knows it. */
void serial_function_after_request(void);

void serial_function_sent(void);
void serial_function_received(const volatile uint8_t *bytes, size_t n);

/* What the board calls. */

/* Whether the last host that spoke is on USB, and is still there: bytes for the host go there. */
bool serial_function_speaks(void);

/* The UART has received: the rings are the UART's. */
void serial_function_hushed(void);

/* Send what is queued; take a packet that found no room in the ring. Interrupts are masked. */
void serial_function_pump(void);

/* Whether a byte can be sent at once, past the ring; and send it. For the fault handler. */
bool serial_function_is_idle(void);
void serial_function_put(uint8_t byte);
