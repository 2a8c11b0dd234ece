#include "trainer/mlperf_tiny.h"

#include <string.h>

#include "agent/port.h"

enum { PRINTED_A_LINE = 8, MHZ = 1000000, MILLE = 1000 };
enum { HELD_US = 2 };    /* their runner needs one at least */
enum { TASK_FIELD = 1 }; /* of the request: its place, from 0 */

static void put(const char *text) {
    for (; *text != '\0'; text++) {
        port_uart_write((const uint8_t *)text, 1);
    }
}

static void put_digits(uint32_t value, uint32_t base, uint32_t least) {
    char digits[11];
    uint32_t at = sizeof digits - 1;
    digits[at] = '\0';
    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value > 0 || sizeof digits - 1 - at < least);
    put(digits + at);
}

static void put_line(const char *before, uint32_t value, const char *after) {
    put(before);
    put_digits(value, 10, 1);
    put(after);
    put("\r\n");
}

static void put_name(const char *before, const char *name) {
    put(before);
    put(name);
    put("]\r\n");
}

static void refuse(const char *why) {
    put_name("e-[", why);
}

/* The next word of a command, or NULL. Moves `rest` to what follows it. */
static char *next_word(char **rest) {
    char *word = *rest;
    while (*word == ' ') {
        word++;
    }
    char *end = word;
    while (*end != ' ' && *end != '\0') {
        end++;
    }
    *rest = *end == '\0' ? end : end + 1;
    *end = '\0';
    return *word == '\0' ? NULL : word;
}

static bool same(const char *a, const char *b) {
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* The number that a word is, `otherwise` without a word, UINT32_MAX where it is not a number. */
static uint32_t number(const char *word, uint32_t otherwise) {
    if (word == NULL) {
        return otherwise;
    }
    uint32_t value = 0;
    for (; *word != '\0'; word++) {
        if (*word < '0' || *word > '9' || value > UINT32_MAX / 10 - 1) {
            return UINT32_MAX;
        }
        value = 10 * value + (uint32_t)(*word - '0');
    }
    return value;
}

static uint32_t sample_bytes(const mlperf_tiny_t *tiny) {
    return task_sample_bytes(tiny->engine, tiny->asked.task);
}

static uint32_t cycles_a_us(void) {
    return port_clock_hz() / MHZ;
}

void mlperf_tiny_pulse(void) {
    port_counter_restart();
    port_marker(false);
    const uint32_t start = port_cycles(), least = HELD_US * cycles_a_us();
    while (port_cycles() - start < least) {
    }
    port_marker(true);
}

/* Their th_timestamp(): a line in performance mode, in energy mode an edge downwards of at least a microsecond. */
static void timestamp(const mlperf_tiny_t *tiny) {
    if (tiny->asked.energy) {
        mlperf_tiny_pulse();
    } else {
        put_line("m-lap-us-", tiny->us, "");
    }
}

/* To three decimals; at most what a word holds of them. */
static void put_mille(float result) {
    const float scaled = result * (float)MILLE + 0.5f;
    const uint32_t mille = scaled < 4294967040.0f ? (uint32_t)scaled : UINT32_MAX;
    put_digits(mille / MILLE, 10, 1);
    put(".");
    put_digits(mille % MILLE, 10, 3);
}

static void results(const mlperf_tiny_t *tiny) {
    if (!tiny->inferred || sample_bytes(tiny) != tiny->expected) {
        refuse("infer first");
        return;
    }
    const uint8_t task = tiny->asked.task;
    const uint32_t n = task_results(tiny->engine, task); /* there is a network */
    put("m-results-[");
    for (uint32_t i = 0; i < n; i++) {
        put(i > 0 ? "," : "");
        put_mille(task_result(tiny->engine, task, i));
    }
    put("]\r\n");
}

/* The counter overflows within a window: it is read after every inference. */
static void infer_often(mlperf_tiny_t *tiny, uint32_t n, bool timed) {
    const uint32_t mhz = cycles_a_us();
    uint32_t before = port_cycles();
    for (; n > 0; n--) {
        engine_forward(tiny->engine, 0);
        const uint32_t now = port_cycles(), cycles = now - before;
        before = now;
        if (timed) {
            tiny->rest += cycles % mhz;
            tiny->us += cycles / mhz + tiny->rest / mhz;
            tiny->rest %= mhz;
        }
    }
}

static void infer(mlperf_tiny_t *tiny, char *arguments) {
    enum { USUAL = 1, USUAL_WARM_UP = 10 };
    const uint32_t n = number(next_word(&arguments), USUAL), warm_up = number(next_word(&arguments), USUAL_WARM_UP);
    const uint32_t bytes = sample_bytes(tiny);
    if (n == 0 || n == UINT32_MAX || warm_up == UINT32_MAX) {
        refuse("infer N W");
    } else if (bytes == 0 || tiny->expected != bytes || tiny->loaded != bytes) {
        refuse("db load first");
    } else {
        task_put_sample(tiny->engine, tiny->asked.task);
        port_counter_restart(); /* the probe by which the board was flashed has gone */
        put_line("m-warmup-start-", warm_up, "");
        infer_often(tiny, warm_up, false);
        put_line("m-warmup-done\r\nm-infer-start-", n, "");
        timestamp(tiny);
        infer_often(tiny, n, true);
        timestamp(tiny);
        put("m-infer-done\r\n");
        tiny->inferred = true;
        results(tiny);
    }
}

static void print_input(const mlperf_tiny_t *tiny) {
    const uint8_t *raw = task_received(tiny->engine);
    for (uint32_t i = 0; i < tiny->loaded; i++) {
        put(i % PRINTED_A_LINE == 0 ? "m-buffer-" : "-");
        put_digits(raw[i], 16, 2);
        put(i % PRINTED_A_LINE == PRINTED_A_LINE - 1 || i + 1 == tiny->loaded ? "\r\n" : "");
    }
}

/* The value of a hexadecimal digit, 16 where it is none. */
static uint32_t hex(char digit) {
    const char lower = (char)(digit | 0x20);
    return digit >= '0' && digit <= '9'   ? (uint32_t)(digit - '0')
           : lower >= 'a' && lower <= 'f' ? (uint32_t)(lower - 'a' + 10)
                                          : 16;
}

/* Bytes after the last expected one are ignored, as in their firmware. */
static void take_hex(mlperf_tiny_t *tiny, const char *digits) {
    uint8_t *raw = task_received(tiny->engine);
    tiny->inferred = false;
    for (; digits[0] != '\0' && tiny->loaded < tiny->expected; digits += 2) {
        const uint32_t high = hex(digits[0]), low = hex(digits[1]);
        if (high > 15 || low > 15) {
            refuse("no hex");
            return;
        }
        raw[tiny->loaded++] = (uint8_t)(high << 4 | low);
        if (tiny->loaded == tiny->expected) {
            put("m-load-done\r\n");
        }
    }
}

static void buffer(mlperf_tiny_t *tiny, char *arguments) {
    const char *word = next_word(&arguments);
    const uint32_t bytes = sample_bytes(tiny);
    if (bytes == 0) {
        refuse("no network");
    } else if (word != NULL && same(word, "load")) {
        const bool right = number(next_word(&arguments), 0) == bytes;
        tiny->expected = right ? bytes : 0;
        tiny->loaded = 0;
        tiny->inferred = false;
        put_line(right ? "m-[Expecting " : "e-[", bytes, " bytes]");
    } else if (word == NULL || tiny->expected != bytes) {
        refuse("db load first");
    } else if (same(word, "print")) {
        print_input(tiny);
    } else {
        take_hex(tiny, word);
    }
}

static void execute(mlperf_tiny_t *tiny, char *command) {
    const char *name = next_word(&command);
    if (name == NULL) {
        return; /* a lone terminator, which flushes */
    }
    if (same(name, "name")) {
        put_name("m-name-dut-[trainrig ", port_board_name());
    } else if (same(name, "profile")) {
        char model[sizeof tiny->asked.model + 1] = {0};
        memcpy(model, tiny->asked.model, sizeof tiny->asked.model);
        put_name("m-profile-[trainrig]\r\nm-model-[", model);
    } else if (same(name, "timestamp")) {
        timestamp(tiny);
    } else if (same(name, "db")) {
        buffer(tiny, command);
    } else if (same(name, "infer")) {
        infer(tiny, command);
    } else if (same(name, "results")) {
        results(tiny);
    } else {
        put_name("e-[Unknown command: ", name);
    }
}

failure_t mlperf_tiny_begin(mlperf_tiny_t *tiny, engine_t *engine, const msg_mlperf_tiny_request_t *asked) {
    if (asked->task >= TASKS) {
        return refusal(FAILURE_BAD_SETTING, TASK_FIELD, asked->task);
    }
    *tiny = (mlperf_tiny_t){.engine = engine, .asked = *asked, .listening = true};
    port_marker(asked->energy != 0);
    return no_failure();
}

void mlperf_tiny_end(mlperf_tiny_t *tiny) {
    if (tiny->listening) {
        tiny->listening = false;
        port_marker(false);
    }
}

void mlperf_tiny_receive(mlperf_tiny_t *tiny, const uint8_t *bytes, size_t n) {
    for (size_t i = 0; tiny->listening && i < n; i++) {
        const uint8_t byte = bytes[i];
        if (byte < ' ' || byte > '~') {
            tiny->length = 0; /* of a frame, or noise; no command has it, nor has one begun before it */
        } else if (byte != '%') {
            tiny->line[tiny->length] = (char)byte;
            tiny->length = (uint8_t)(tiny->length + (tiny->length < MLPERF_TINY_LINE));
        } else {
            tiny->line[tiny->length] = '\0';
            tiny->length = 0;
            execute(tiny, tiny->line);
            put("m-ready\r\n");
        }
    }
}
