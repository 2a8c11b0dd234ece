#include "trainer/mlperf_tiny.h"

#include <string.h>

#include "agent/port.h"
#include "arith/float32.h"

/* The sample is in slot 0 and its bytes, as they came, in slot 1: a sample is halved, and `db print` and `infer` may
   be repeated. */
enum { SLOTS = 2, PRINTED_A_LINE = 8, MHZ = 1000000, MILLE = 1000 };
enum { HELD_US = 2 }; /* their runner needs one at least */

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

/* The bytes of an input of the network; 0 without a configured network of two slots. */
static uint32_t inputs_of(const mlperf_tiny_t *tiny) {
    const engine_t *engine = tiny->engine;
    const bool ready = engine_check_whole(engine).code == 0 && engine->model.settings.slots >= SLOTS;
    return ready ? (uint32_t)graph_elements(&engine->model.file, 0) : 0;
}

static uint8_t *raw_of(const mlperf_tiny_t *tiny) {
    return (uint8_t *)model_sample(&tiny->engine->model, SLOTS - 1);
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

/* Softmax in floats, to three decimals, as their reference prints it: e^-(cross entropy with the class as the label).
   */
static void results(const mlperf_tiny_t *tiny) {
    const model_t *model = &tiny->engine->model;
    if (!tiny->inferred || inputs_of(tiny) != tiny->expected) {
        refuse("infer first");
        return;
    }
    const uint32_t classes = model_classes(model); /* there is a network */
    put("m-results-[");
    for (uint32_t i = 0; i < classes; i++) {
        const float p =
            exp32(-model_format(model, (uint8_t)(model->file.layers - 1))->loss(model, model_logits(model, 0), i));
        const uint32_t mille = (uint32_t)(int32_t)(p * (float)MILLE + 0.5f);
        put(i > 0 ? "," : "");
        put_digits(mille / MILLE, 10, 1);
        put(".");
        put_digits(mille % MILLE, 10, 3);
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
    const uint32_t inputs = inputs_of(tiny);
    if (n == 0 || n == UINT32_MAX || warm_up == UINT32_MAX) {
        refuse("infer N W");
    } else if (inputs == 0 || tiny->expected != inputs || tiny->loaded != inputs) {
        refuse("db load first");
    } else {
        (void)engine_put_sample(tiny->engine, 0, 0, raw_of(tiny), inputs);
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
    const uint8_t *raw = raw_of(tiny);
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
    uint8_t *raw = raw_of(tiny);
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
    const uint32_t inputs = inputs_of(tiny);
    if (inputs == 0) {
        refuse("no network");
    } else if (word != NULL && same(word, "load")) {
        const bool right = number(next_word(&arguments), 0) == inputs;
        tiny->expected = right ? inputs : 0;
        tiny->loaded = 0;
        tiny->inferred = false;
        put_line(right ? "m-[Expecting " : "e-[", inputs, " bytes]");
    } else if (word == NULL || tiny->expected != inputs) {
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

void mlperf_tiny_begin(mlperf_tiny_t *tiny, engine_t *engine, const msg_mlperf_tiny_request_t *asked) {
    *tiny = (mlperf_tiny_t){.engine = engine, .asked = *asked, .listening = true};
    port_marker(asked->energy != 0);
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
