/* The agent of trainrig as a library: the host greets the device, and sends requests of your own to it, over any port
   that you can read and write (docs/own-firmware.md). C11 and C++11; no heap, no interrupts, no linker script.

       static uint32_t loss(const hil_request_t *request, hil_reply_t *reply) {
           const float now = my_loss();
           return hil_put(reply, &now, sizeof now) ? 0 : 1;
       }

       hil_agent_start(&hal);
       HIL_REQUEST(0x20, loss);
       for (;;) hil_agent_poll();

   Call all of it from one thread or task. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define HIL_STATIC_ASSERT static_assert
#else
#define HIL_STATIC_ASSERT _Static_assert
#endif

enum { HIL_FIRST_REQUEST = 0x20, HIL_LAST_REQUEST = 0x3F, HIL_MOST_BODY = 1024 };

/* The error that the agent returns for a handler that sets the length of its reply beyond HIL_MOST_BODY. */
#define HIL_REPLY_TOO_LONG 0xFFFFFFFFu

/* The device, as the library sees it. It must stay where it is while the agent runs. */
typedef struct {
    /* Copy up to `capacity` received bytes, and return how many; 0 if nothing has come. Do not wait for bytes. */
    size_t (*read)(void *context, uint8_t *bytes, size_t capacity);
    /* Send n bytes, or queue them. Wait only while the queue is full. */
    void (*write)(void *context, const uint8_t *bytes, size_t n);
    /* A count that never stops, modulo 2^32, with `time_hz` counts a second. */
    uint32_t (*time)(void *context);
    /* Drive the pin that a power meter triggers on. May be NULL. */
    void (*marker)(void *context, bool high);
    void *context;     /* passed to all four */
    const char *name;  /* of the board or product, at most 16 characters */
    uint32_t time_hz;  /* of `time` */
    uint16_t rx_bytes; /* how many bytes may arrive between two calls of `read` without loss; 0: 64 */
} hil_hal_t;

/* A request of the host. */
typedef struct {
    uint8_t number;
    const uint8_t *body; /* not aligned: copy values out of it */
    size_t length;       /* bytes, at most HIL_MOST_BODY */
} hil_request_t;

/* The reply to it. It is empty when the handler is called; hil_put() appends to it. */
typedef struct {
    uint8_t *body;
    size_t length;
} hil_reply_t;

/* Answer a request. Return 0, or an error number of your own: the host then raises an exception with this number. */
typedef uint32_t (*hil_handler_t)(const hil_request_t *request, hil_reply_t *reply);

/* One registered request; HIL_REQUEST makes it. */
typedef struct hil_own_request {
    hil_handler_t handler;
    struct hil_own_request *next;
    uint8_t number;
} hil_own_request_t;

/* Begin. Requests may be registered before or after it. */
void hil_agent_start(const hil_hal_t *hal);

/* Answer all requests that have arrived. Returns the number of bytes read: 0 means that there is time to sleep. */
size_t hil_agent_poll(void);

/* Append n bytes to a reply. Returns false, and appends nothing, if they do not fit. */
bool hil_put(hil_reply_t *reply, const void *bytes, size_t n);

/* Drive the marker pin, if the device has one. */
void hil_marker(bool high);

/* Register a request, which must stay where it is. Of several with one number the last one counts. */
void hil_agent_add(hil_own_request_t *request);

/* Register the handler of the request with this number: a constant from HIL_FIRST_REQUEST to HIL_LAST_REQUEST. */
#define HIL_REQUEST(number_, handler_)                                                                                 \
    do {                                                                                                               \
        HIL_STATIC_ASSERT((number_) >= HIL_FIRST_REQUEST && (number_) <= HIL_LAST_REQUEST,                             \
                          "requests of your own have numbers from 0x20 to 0x3F");                                      \
        static hil_own_request_t own_request_ = {(handler_), 0, (uint8_t)(number_)};                                   \
        hil_agent_add(&own_request_);                                                                                  \
    } while (0)

#ifdef __cplusplus
}
#endif
