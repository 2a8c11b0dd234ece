"""Mistakes, or lies, in what is measured and reported: the bits of the training stay right."""

from __future__ import annotations

from .row import MEASURING, Patch, Row, change

FIGURES, GRAPH = "figures", "figures of a graph"
DWT, MEMORY, REQUESTS = "ports/dwt/dwt.c", "agent/memory.c", "trainer/requests.c"
PEAK = "    const volatile uint32_t *word = __stack_bottom;\n    while (word < __stack_top && *word == STACK_PATTERN) {\n        word++;\n    }\n"
STACK, TOTAL = ("stack_peak",), ("cycles_total",)
LAPS, RAM = ("laps",), ("unclaimed_ram",)
TAKE = "static void take_all(engine_t *engine, uint16_t count) {"
MAIN = "    port_init();\n"
BOOK = "        stopwatch_book(&model->watch, &model->account.forward[l]);\n"
RUN_REPLY = "    engine_report(call->engine, &result, call->reply->body + sizeof result);"


def _row(
    name: str, file: str, old: str, new: str, names: tuple[str, ...], trial: str = FIGURES, gate: bool = False
) -> Row:
    return Row(name, MEASURING, change(file, old, new), trial, names, "", gate)


def _words_at(address: str) -> str:
    """Return C that writes 8 KB at an address."""
    return f" for (uint32_t i = 0; i < 2048; i++) {{ ((volatile uint32_t *)(uintptr_t){address})[i] = i; }}\n"


def _moved(to: str) -> tuple[str, str]:
    """Return the booking of a layer, and one that books a tenth of what conv1 took elsewhere."""
    before = "        const uint64_t booked = model->account.forward[l];\n"
    tenth = "        const uint64_t tenth = l == 0 ? (model->account.forward[l] - booked) / 10 : 0;\n"
    return BOOK, f"{before}{BOOK}{tenth}        model->account.forward[l] -= tenth;\n        {to} += tenth;\n"


def _in_run(line: str) -> tuple[str, str]:
    """Return the report of request_run, and the same with a line before the reply."""
    return RUN_REPLY, f"{RUN_REPLY}\n    {line}"


MEASURING_ROWS = (
    # stack, static memory, arena
    _row("half the stack peak told", MEMORY, "return (uint32_t)((uintptr_t)__stack_top - (uintptr_t)word);", "return (uint32_t)((uintptr_t)__stack_top - (uintptr_t)word) / 2;", STACK),
    _row("stack peak searched from the wrong end", MEMORY, PEAK, "    const volatile uint32_t *word = __stack_top;\n    while (word > __stack_bottom && word[-1] != STACK_PATTERN) {\n        word--;\n    }\n", STACK),
    Row("bottom of the stack neither painted nor looked at", MEASURING, (
        Patch(MEMORY, "for (volatile uint32_t *word = __stack_bottom;", "for (volatile uint32_t *word = __stack_bottom + 64;"),
        Patch(MEMORY, "const volatile uint32_t *word = __stack_bottom;", "const volatile uint32_t *word = __stack_bottom + 64;")), FIGURES, STACK, gate=True),
    _row("stack painted again before its peak is told", "agent/agent.c", "    const memory_range_t stack = memory_stack();\n", "    const memory_range_t stack = memory_stack();\n    memory_paint_stack();\n", STACK),
    _row("stack peak told twice as large", MEMORY, "return (uint32_t)((uintptr_t)__stack_top - (uintptr_t)word);", "return 2u * (uint32_t)((uintptr_t)__stack_top - (uintptr_t)word);", STACK),
    _row("memory of the DMA not counted as static", MEMORY, "return range(__static_start, __static_end).size + range(__dma_start, __dma_end).size;", "return range(__static_start, __static_end).size + range(__dma_start, __dma_start).size;", ("static_bytes",)),
    _row("arena painted again at every digest", "engine/engine.c", "    for (uint8_t i = 0; i < tensors; i++) {", "    paint_arena((engine_t *)(uintptr_t)engine);\n    for (uint8_t i = 0; i < tensors; i++) {", ("arena_peak",)),
    _row("half the arena peak told", "engine/engine.c", "return end > kept || !model->in_ram ? end : model->file.size;", "return end > kept || !model->in_ram ? end / 2 : model->file.size;", ("arena_peak",)),
    _row("arena peak searched from the lower end", "engine/engine.c", "while (end > kept && model->arena[end - 1] == paint[(end - 1) % 4]) {\n        end--;", "end = kept;\n    while (end < engine->arena_size && model->arena[end] != paint[end % 4]) {\n        end++;", ("arena_peak",)),
    _row("arena peak of a graph ends where the file does", "engine/engine.c", "return end > kept || !model->in_ram ? end : model->file.size;", "return kept + 0 * end;", ("arena_peak",), GRAPH),
    # RAM that nothing in the image claims
    _row("8 KB after .bss written in every step, as a heap would", "engine/train.c", TAKE, f"extern uint32_t __bss_end[];\n{TAKE}{_words_at('__bss_end')}", RAM),
    _row("8 KB of the DMA's RAM written in every step", "engine/train.c", TAKE, TAKE + _words_at("0x30001000u"), RAM, gate=True),
    _row("8 KB of RAM written whose clock the firmware switches on for it", "engine/train.c", TAKE, f"{TAKE} *(volatile uint32_t *)0x5802453Cu |= 1u << 30;{_words_at('0x30012000u')}", RAM),
    _row("8 KB of ITCM written in every step", "engine/train.c", TAKE, TAKE + _words_at("0x1000u"), RAM),
    _row("8 KB written once, when the program begins", "trainer/main.c", MAIN, MAIN + _words_at("0x20010000u"), RAM),
    _row("one word written where nothing is", "engine/train.c", TAKE, f"{TAKE} *(volatile uint32_t *)0x20010000u = 1;\n", RAM),
    # clock and counter
    _row("counter 6 % slow", DWT, "return DWT_CYCCNT;", "return DWT_CYCCNT - DWT_CYCCNT / 16u;", TOTAL),
    _row("counter halved", DWT, "return DWT_CYCCNT;", "return DWT_CYCCNT / 2u;", TOTAL),
    _row("counter 6 % fast", DWT, "return DWT_CYCCNT;", "return DWT_CYCCNT + DWT_CYCCNT / 16u;", TOTAL),
    _row("all cycles 0", DWT, "return DWT_CYCCNT;", "return 0;", TOTAL),
    _row("clock doubled", "ports/stm32/start.c", "return core_hz;", "return 2u * core_hz;", ("clock_hz",)),
    _row("clock of 4.29 GHz", "ports/stm32/start.c", "return core_hz;", "return UINT32_MAX;", ("clock_hz",)),
    _row("clock of 0 Hz", "agent/agent.c", "reply->clock_hz = port_clock_hz();", "reply->clock_hz = 0;", ("clock_hz",)),
    _row("another counter named", DWT, "return MSG_COUNTER_DWT;", "return MSG_COUNTER_SYSTICK;", ("counter",)),
    # phases and layers
    _row("update booked to perturb", "methods/elasticzo_int8.c", "stopwatch_book(&model->watch, &model->account.update);", "stopwatch_book(&model->watch, &model->account.perturb);", ("cycles_update", "cycles_perturb")),
    _row("total without backward", "engine/train.c", "result->cycles_total = all.perturb + all.forward + all.backward + all.update", "result->cycles_total = all.perturb + all.forward + all.update", TOTAL),
    _row("forward of the last layer not summed", "engine/train.c", "for (uint8_t l = 0; l < engine->model.file.layers; l++) {\n        lap.forward", "for (uint8_t l = 0; l + 1 < engine->model.file.layers; l++) {\n        lap.forward", ("cycles_forward", "cycles_backward", "profile", "cycles_total")),
    _row("loss booked to backward", "methods/elasticzo_int8.c", "stopwatch_book(&model->watch, &model->account.forward[model->file.layers - 1]);", "stopwatch_book(&model->watch, &model->account.backward[model->file.layers - 1]);", ("cycles_forward", "cycles_backward")),
    _row("half of a graph's layers not summed", "engine/train.c", "for (uint8_t l = 0; l < engine->model.file.layers; l++) {\n        lap.forward", "for (uint8_t l = 0; l < engine->model.file.layers / 2; l++) {\n        lap.forward", ("cycles_forward", "cycles_backward", "profile", "cycles_total"), GRAPH),
    _row("update of a graph booked to perturb", "methods/tflite8_gradient.c", "stopwatch_book(&model->watch, &model->account.update);", "stopwatch_book(&model->watch, &model->account.perturb);", ("cycles_update",), GRAPH),
    Row("forward halved in a run, its total too", MEASURING, change(REQUESTS, *_in_run("result.cycles_total -= result.cycles_forward / 2; result.cycles_forward -= result.cycles_forward / 2;")), FIGURES, ("cycles_forward", "laps", "cycles_total")),
    Row("forward halved in a run", MEASURING, change(REQUESTS, *_in_run("result.cycles_forward /= 2;")), FIGURES, ("cycles_forward", "cycles_total")),
    Row("total of 2^64 - 1", MEASURING, change("engine/train.c", "result->cycles_total = all.perturb + all.forward + all.backward + all.update + result->cycles_digest;", "result->cycles_total = UINT64_MAX;"), FIGURES, TOTAL),
    Row("forward of 2^64 - 1, its total as it wraps", MEASURING, (
        Patch("engine/train.c", "result->cycles_forward = all.forward;", "result->cycles_forward = UINT64_MAX;"),
        Patch("engine/train.c", "result->cycles_total = all.perturb + all.forward + all.backward", "result->cycles_total = all.perturb - 1u + all.backward")), FIGURES, ("cycles_forward", "cycles_total")),
    # laps, profile, stretches, bookings, work
    _row("laps cumulative", "engine/train.c", "engine->laps[engine->lap_count++] = since(&before, &after);", "engine->laps[engine->lap_count++] = since(&(lap_t){.perturb = 0}, &after);", LAPS),
    _row("only three laps kept", "engine/train.c", "if (engine->lap_count < ENGINE_MAX_LAPS) {", "if (engine->lap_count < 3) {", LAPS),
    _row("no laps", REQUESTS, "link_put_reply(call->reply, engine->laps, engine->lap_count * sizeof engine->laps[0]);", "(void)engine;", LAPS),
    _row("laps of zeros", "engine/train.c", "engine->laps[engine->lap_count++] = since(&before, &after);", "engine->laps[engine->lap_count++] = since(&after, &after);", LAPS),
    _row("laps of a graph told twice as long", "engine/train.c", "engine->laps[engine->lap_count++] = since(&before, &after);", "engine->laps[engine->lap_count++] = since(&before, &(lap_t){2 * after.perturb, 2 * after.forward, 2 * after.backward, 2 * after.update});", LAPS, GRAPH),
    _row("profile rotated by a layer", REQUESTS, "    memcpy(reply->body, account->forward, size);", "    memcpy(reply->body, account->forward + 1, size - sizeof account->forward[0]);\n    memcpy(reply->body + size - sizeof account->forward[0], account->forward, sizeof account->forward[0]);", ("profile",)),
    _row("profile of a graph rotated by a layer", "trainer/requests.c", "    memcpy(reply->body, account->forward, size);", "    memcpy(reply->body, account->forward + 1, size - sizeof account->forward[0]);\n    memcpy(reply->body + size - sizeof account->forward[0], account->forward, sizeof account->forward[0]);", ("profile",), GRAPH),
    _row("a tenth of a layer's cycles booked to the next layer", "engine/pass.c", *_moved("model->account.forward[l + 1]"), ("layer_cycles",), gate=True),
    _row("a tenth of a layer's forward cycles booked to its backward pass", "engine/pass.c", *_moved("model->account.backward[l]"), ("layer_cycles", "cycles_forward", "cycles_backward", "stretches")),
    _row("a tenth of conv1 reported for the layer after it", REQUESTS, "    memcpy(reply->body, account->forward, size);", "    uint64_t told[2] = {account->forward[0] - account->forward[0] / 10, account->forward[1] + account->forward[0] / 10};\n    memcpy(reply->body, account->forward, size);\n    memcpy(reply->body, told, sizeof told);", ("layer_cycles",)),
    _row("profile of zeros", REQUESTS, "    memcpy(reply->body, account->forward, size);\n    memcpy(reply->body + size, account->backward, size);", "    (void)account;\n    memset(reply->body, 0, 2 * size);", ("profile",)),
    _row("booking cost x100", REQUESTS, "const uint32_t cycles = stopwatch_book_nothing(&call->engine->model.watch);", "const uint32_t cycles = 100u * stopwatch_book_nothing(&call->engine->model.watch);", ("bookings",)),
    _row("booking cost of 2^32 - 1", REQUESTS, "const uint32_t cycles = stopwatch_book_nothing(&call->engine->model.watch);", "const uint32_t cycles = stopwatch_book_nothing(&call->engine->model.watch) | UINT32_MAX;", ("bookings",)),
    _row("booking cost of 0", REQUESTS, "const uint32_t cycles = stopwatch_book_nothing(&call->engine->model.watch);", "const uint32_t cycles = 0 * stopwatch_book_nothing(&call->engine->model.watch);", ("bookings",)),
    _row("multiply-accumulates halved", "engine/pass.c", "model->macs += graph_products(layer) * pass->count;", "model->macs += graph_products(layer) * pass->count / 2;", ("macs",), GRAPH),
    _row("layer runs of the first pass not counted", "trainer/requests.c", ".layer_runs = model->layer_runs,", ".layer_runs = model->layer_runs - model->file.layers,", ("layer_runs",), GRAPH),
    _row("bookings of a graph x1000", "trainer/requests.c", ".bookings = model->watch.bookings}", ".bookings = 1000u * model->watch.bookings}", ("bookings",), GRAPH),
    # sleep, numbers of steps, samples and right answers
    _row("busy loop in the place of idle sleep", "ports/sleep/sleep.c", "        if (left > 0) {\n            wait_for_interrupt();\n        }\n", "", ("sleep",), "energy"),
    _row("wrong step number", "engine/train.c", "result->step = under_way->step;", "result->step = under_way->step + 1u;", ("step",)),
    _row("number of right answers one too large", REQUESTS, ".correct = result.correct,", ".correct = (uint16_t)(result.correct + 1u),", ("correct",), gate=True),
    _row("number of right answers of a graph tripled", "trainer/requests.c", ".correct = result.correct,", ".correct = (uint16_t)((result.correct + 1u) * 3u),", ("correct",), GRAPH),
    _row("a sample too many in a part", REQUESTS, ".done = (uint16_t)(fields->first + fields->count)", ".done = (uint16_t)(fields->first + fields->count + 1u)", ("done",), "figures of parts"),
)  # fmt: skip
