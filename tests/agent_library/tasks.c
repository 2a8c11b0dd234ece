/* The agent in one thread of a program, as in a task of an RTOS, over the file descriptor of its first argument; another thread prints on the
   same port all the time. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hil_agent.h"

static int port;
static pthread_mutex_t line = PTHREAD_MUTEX_INITIALIZER; /* as an RTOS has one for its UART */

static size_t read_port(void *context, uint8_t *bytes, size_t capacity) {
    (void)context;
    return (size_t)read(port, bytes, capacity); /* does not wait; -1 where nothing has come */
}

static void write_port(void *context, const uint8_t *bytes, size_t n) {
    (void)context;
    pthread_mutex_lock(&line);
    while (n > 0) {
        const ssize_t sent = write(port, bytes, n);
        if (sent > 0) {
            bytes += sent;
            n -= (size_t)sent;
        }
    }
    pthread_mutex_unlock(&line);
}

static uint32_t microseconds(void *context) {
    (void)context;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)((uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u);
}

static uint32_t reversed(const hil_request_t *request, hil_reply_t *reply) {
    for (size_t i = request->length; i > 0; i--) {
        if (!hil_put(reply, &request->body[i - 1], 1)) {
            return 1;
        }
    }
    const uint8_t one_more = 0;
    return request->length == HIL_MOST_BODY && !hil_put(reply, &one_more, 1) ? 2 : 0;
}

static uint32_t prints(const hil_request_t *request, hil_reply_t *reply) {
    (void)request;
    (void)reply;
    write_port(NULL, (const uint8_t *)"heard you\n", 10);
    return 0;
}

static uint32_t boasts(const hil_request_t *request, hil_reply_t *reply) {
    (void)request;
    reply->length = HIL_MOST_BODY + 1;
    return hil_put(reply, "x", 1) ? 3 : 0;
}

static uint32_t never(const hil_request_t *request, hil_reply_t *reply) {
    (void)request;
    (void)reply;
    abort();
}

static void *heartbeat(void *pause_us) {
    for (;;) {
        write_port(NULL, (const uint8_t *)"still here\n", 11);
        usleep(*(useconds_t *)pause_us);
    }
    return NULL;
}

static void register_requests(void) {
    HIL_REQUEST(0x20, never);
    HIL_REQUEST(0x20, reversed); /* the last one counts */
    HIL_REQUEST(0x22, boasts);
    HIL_REQUEST(0x3F, prints);
}

int main(int argc, char **argv) {
    port = atoi(argv[1]);
    const hil_hal_t hal = {
        .read = read_port, .write = write_port, .time = microseconds, .name = "tasks", .time_hz = 1000000};
    register_requests();
    hil_agent_start(&hal);
    register_requests(); /* once more changes nothing */
    hil_marker(true);    /* there is no pin */
    static useconds_t pause_us;
    if (argc > 2) {
        pthread_t other;
        pause_us = (useconds_t)atoi(argv[2]);
        pthread_create(&other, NULL, heartbeat, &pause_us);
    }
    for (;;) {
        if (hil_agent_poll() == 0) {
            usleep(500);
        }
    }
}
