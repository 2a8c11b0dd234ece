/* The requests of docs/link.md: bodies of messages on one side, the engine on the other. */
#pragma once

#include "trainer/trainer.h"

/* A request while it is carried out. */
typedef struct {
    trainer_t *trainer;
    engine_t *engine;
    const void *fields;  /* the fixed part of the body: a structure of messages.h, at any address */
    const uint8_t *rest; /* the `n` bytes that follow it */
    uint32_t n;
    link_reply_t *reply;
} call_t;

typedef failure_t request_t(const call_t *call);

/* network_requests.c: the network, its settings, its tensors; samples that are kept. */
request_t request_load_begin, request_load_data, request_load_end, request_use_flash, request_keep;
request_t request_configure, request_digests, request_read_tensor, request_write_tensor;

/* requests.c: samples, steps, evaluation. */
request_t request_samples, request_sample_part, request_kept_samples, request_step, request_part, request_run,
    request_infer, request_trace;

/* Cycles of each step of the last run, of each stretch of a phase of the last step, by layer of the last step or run,
   and of bookings with nothing to book; and the work of the last step or run. */
request_t request_laps, request_stretches, request_profile, request_bookings, request_work;

/* checkpoint.c: trained tensors in two slots of the board's flash (docs/trials.md). */
request_t request_checkpoints, request_save_checkpoint, request_load_checkpoint;
