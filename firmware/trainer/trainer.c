#include "trainer/trainer.h"

#include "agent/memory.h"
#include "agent/port.h"
#include "trainer/registry.h"
#include "trainer/requests.h"

/* The engine does not know the link, but its errors have the same numbers. */
#define SAME_CODE(name, number) _Static_assert((int)MSG_ERROR_##name == number, #name);
FAILURE_CODES(SAME_CODE)

static failure_t request_mlperf_tiny(const call_t *call) {
    return mlperf_tiny_begin(&call->trainer->tiny, call->engine, call->fields);
}

static failure_t request_marker(const call_t *call) {
    const msg_marker_request_t *fields = call->fields;
    call->trainer->pulses = fields->pulses != 0;
    port_marker(call->trainer->pulses);
    return no_failure();
}

/* A request: the fixed part of its body in bytes, whether more may follow it, and whether every format serves it. */
typedef struct {
    uint8_t type, fixed;
    bool open;
    uint8_t service; /* its bit in format_t.serves; 0: every format serves it */
    request_t *carry_out;
} entry_t;

static const entry_t entries[] = {
    {MSG_LOAD_BEGIN, sizeof(msg_load_begin_request_t), false, 0, request_load_begin},
    {MSG_LOAD_DATA, sizeof(msg_load_data_request_t), true, 0, request_load_data},
    {MSG_LOAD_END, 0, false, 0, request_load_end},
    {MSG_USE_FLASH, sizeof(msg_use_flash_request_t), false, 0, request_use_flash},
    {MSG_KEEP, sizeof(msg_keep_request_t), false, 0, request_keep},
    {MSG_CONFIGURE, sizeof(msg_configure_request_t), true, 0, request_configure},
    {MSG_SAMPLES, sizeof(msg_samples_request_t), true, 0, request_samples},
    {MSG_SAMPLE_PART, sizeof(msg_sample_part_request_t), true, 0, request_sample_part},
    {MSG_KEPT_SAMPLES, sizeof(msg_kept_samples_request_t), true, 0, request_kept_samples},
    {MSG_STEP, sizeof(msg_step_request_t), false, 0, request_step},
    {MSG_PART, sizeof(msg_part_request_t), false, 0, request_part},
    {MSG_RUN, sizeof(msg_run_request_t), false, 0, request_run},
    {MSG_INFER, sizeof(msg_infer_request_t), false, 0, request_infer},
    {MSG_TRACE, sizeof(msg_trace_request_t), false, 0, request_trace},
    {MSG_DIGESTS, 0, false, 0, request_digests},
    {MSG_READ_TENSOR, sizeof(msg_read_tensor_request_t), false, 0, request_read_tensor},
    {MSG_WRITE_TENSOR, sizeof(msg_write_tensor_request_t), true, SERVES_WRITE_TENSOR, request_write_tensor},
    {MSG_LAPS, 0, false, 0, request_laps},
    {MSG_STRETCHES, 0, false, 0, request_stretches},
    {MSG_PROFILE, 0, false, 0, request_profile},
    {MSG_BOOKINGS, 0, false, 0, request_bookings},
    {MSG_WORK, 0, false, SERVES_WORK, request_work},
    {MSG_MLPERF_TINY, sizeof(msg_mlperf_tiny_request_t), false, SERVES_MLPERF_TINY, request_mlperf_tiny},
    {MSG_MARKER, sizeof(msg_marker_request_t), false, 0, request_marker},
    {MSG_CHECKPOINTS, 0, false, 0, request_checkpoints},
    {MSG_SAVE_CHECKPOINT, sizeof(msg_save_checkpoint_request_t), false, 0, request_save_checkpoint},
    {MSG_LOAD_CHECKPOINT, sizeof(msg_load_checkpoint_request_t), false, 0, request_load_checkpoint},
};

static const entry_t *entry_of(uint8_t type) {
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        if (entries[i].type == type) {
            return &entries[i];
        }
    }
    return NULL;
}

static link_error_t execute(void *context, const link_request_t *request, link_reply_t *reply) {
    trainer_t *trainer = context;
    const entry_t *entry = entry_of(request->type);
    if (entry == NULL) {
        return link_unknown(request);
    }
    if (request->length < entry->fixed || (request->length > entry->fixed && !entry->open)) {
        return link_bad_length(request, entry->fixed);
    }
    const call_t call = {.trainer = trainer,
                         .engine = &trainer->engine,
                         .fields = request->body,
                         .rest = request->body + entry->fixed,
                         .n = (uint32_t)(request->length - entry->fixed),
                         .reply = reply};
    const model_t *model = &trainer->engine.model;
    const bool served = model->formats == NULL || entry->service == 0 || model_serves(model, entry->service);
    const failure_t outcome = served ? entry->carry_out(&call) : graph_other_format(0);
    return (link_error_t){.code = outcome.code, .a = outcome.a, .b = outcome.b};
}

static void begin(trainer_t *trainer) {
    const memory_range_t arena = memory_arena();
    engine_init(&trainer->engine, registry_formats, arena.base, arena.size, port_cycles);
}

static void begin_session(void *context) {
    trainer_t *trainer = context;
    mlperf_tiny_end(&trainer->tiny);
    if (trainer->pulses) {
        trainer->pulses = false;
        port_marker(false);
    }
    begin(trainer);
}

static uint32_t arena_peak(const void *context) {
    const trainer_t *trainer = context;
    return engine_arena_peak(&trainer->engine);
}

static void received(void *context, const uint8_t *bytes, size_t n) {
    trainer_t *trainer = context;
    mlperf_tiny_receive(&trainer->tiny, bytes, n);
}

agent_engine_t trainer_start(trainer_t *trainer) {
    begin(trainer);
    return (agent_engine_t){
        .begin_session = begin_session,
        .execute = execute,
        .arena_peak = arena_peak,
        .received = received,
        .context = trainer,
    };
}
