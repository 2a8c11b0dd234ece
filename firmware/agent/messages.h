/* Generated from hil/link/messages.toml by `python -m hil.link.generate`; edit that file. */
#pragma once

#include <stdint.h>

#define MSG_PROTOCOL 6u
#define MSG_MAX_BODY 1024u
#define MSG_REPLY_BIT 0x80u

/* Bodies, little-endian and packed. An open last field (bytes, u32[], u64[]) is not a member: it begins at sizeof. */

#define MSG_HELLO 0x01u
typedef struct __attribute__((packed, may_alias)) {
    uint32_t nonce;
    uint16_t protocol;
} msg_hello_request_t;
_Static_assert(sizeof(msg_hello_request_t) == 6, "msg_hello_request_t is packed");
typedef struct __attribute__((packed, may_alias)) {
    uint16_t protocol;
    uint8_t board[16];
    uint32_t clock_hz;
    uint32_t cpuid;
    uint32_t image_base;
    uint32_t image_size;
    uint32_t image_digest;
    uint16_t rx_window;
    uint8_t counter;
} msg_hello_reply_t;
_Static_assert(sizeof(msg_hello_reply_t) == 41, "msg_hello_reply_t is packed");

#define MSG_LOAD_BEGIN 0x02u
typedef struct __attribute__((packed, may_alias)) {
    uint32_t total;
} msg_load_begin_request_t;
_Static_assert(sizeof(msg_load_begin_request_t) == 4, "msg_load_begin_request_t is packed");

#define MSG_LOAD_DATA 0x03u
typedef struct __attribute__((packed, may_alias)) {
    uint32_t offset;
} msg_load_data_request_t;
_Static_assert(sizeof(msg_load_data_request_t) == 4, "msg_load_data_request_t is packed");

#define MSG_LOAD_END 0x04u
typedef struct __attribute__((packed, may_alias)) {
    uint32_t network_digest;
    uint8_t tensors;
    uint8_t layers;
} msg_load_end_reply_t;
_Static_assert(sizeof(msg_load_end_reply_t) == 6, "msg_load_end_reply_t is packed");

#define MSG_CONFIGURE 0x05u
typedef struct __attribute__((packed, may_alias)) {
    uint8_t method;
} msg_configure_request_t;
_Static_assert(sizeof(msg_configure_request_t) == 1, "msg_configure_request_t is packed");
typedef struct __attribute__((packed, may_alias)) {
    uint32_t arena_planned;
    uint32_t arena_size;
    uint8_t tensors;
} msg_configure_reply_t;
_Static_assert(sizeof(msg_configure_reply_t) == 9, "msg_configure_reply_t is packed");

#define MSG_SAMPLES 0x06u
typedef struct __attribute__((packed, may_alias)) {
    uint16_t slot;
    uint16_t label;
} msg_samples_request_t;
_Static_assert(sizeof(msg_samples_request_t) == 4, "msg_samples_request_t is packed");

#define MSG_KEEP 0x15u
typedef struct __attribute__((packed, may_alias)) {
    uint32_t address;
    uint32_t total;
} msg_keep_request_t;
_Static_assert(sizeof(msg_keep_request_t) == 8, "msg_keep_request_t is packed");
typedef struct __attribute__((packed, may_alias)) {
    uint32_t digest;
} msg_keep_reply_t;
_Static_assert(sizeof(msg_keep_reply_t) == 4, "msg_keep_reply_t is packed");

#define MSG_KEPT_SAMPLES 0x1Fu
typedef struct __attribute__((packed, may_alias)) {
    uint16_t slot;
} msg_kept_samples_request_t;
_Static_assert(sizeof(msg_kept_samples_request_t) == 2, "msg_kept_samples_request_t is packed");

#define MSG_STEP 0x07u
typedef struct __attribute__((packed, may_alias)) {
    uint32_t step;
    uint16_t count;
} msg_step_request_t;
_Static_assert(sizeof(msg_step_request_t) == 6, "msg_step_request_t is packed");
typedef struct __attribute__((packed, may_alias)) {
    uint32_t step;
    float loss_plus;
    float loss_minus;
    int8_t sign;
    uint64_t cycles_perturb;
    uint64_t cycles_forward;
    uint64_t cycles_backward;
    uint64_t cycles_update;
    uint64_t cycles_digest;
    uint64_t cycles_total;
} msg_step_reply_t;
_Static_assert(sizeof(msg_step_reply_t) == 61, "msg_step_reply_t is packed");

#define MSG_INFER 0x08u
typedef struct __attribute__((packed, may_alias)) {
    uint16_t count;
} msg_infer_request_t;
_Static_assert(sizeof(msg_infer_request_t) == 2, "msg_infer_request_t is packed");
typedef struct __attribute__((packed, may_alias)) {
    uint16_t correct;
    uint32_t logits_digest;
} msg_infer_reply_t;
_Static_assert(sizeof(msg_infer_reply_t) == 6, "msg_infer_reply_t is packed");

#define MSG_READ_TENSOR 0x09u
typedef struct __attribute__((packed, may_alias)) {
    uint8_t tensor;
    uint32_t offset;
    uint16_t length;
} msg_read_tensor_request_t;
_Static_assert(sizeof(msg_read_tensor_request_t) == 7, "msg_read_tensor_request_t is packed");

#define MSG_MEMORY 0x0Au
typedef struct __attribute__((packed, may_alias)) {
    uint32_t static_bytes;
    uint32_t arena_base;
    uint32_t arena_size;
    uint32_t arena_peak;
    uint32_t stack_base;
    uint32_t stack_size;
    uint32_t stack_peak;
} msg_memory_reply_t;
_Static_assert(sizeof(msg_memory_reply_t) == 28, "msg_memory_reply_t is packed");

#define MSG_DIGESTS 0x0Bu

#define MSG_ECHO 0x0Cu

#define MSG_TRACE 0x0Du
typedef struct __attribute__((packed, may_alias)) {
    uint16_t slot;
    uint16_t stage;
    uint32_t offset;
} msg_trace_request_t;
_Static_assert(sizeof(msg_trace_request_t) == 8, "msg_trace_request_t is packed");

#define MSG_PART 0x0Eu
typedef struct __attribute__((packed, may_alias)) {
    uint32_t step;
    uint8_t pass;
    uint16_t first;
    uint16_t count;
} msg_part_request_t;
_Static_assert(sizeof(msg_part_request_t) == 9, "msg_part_request_t is packed");
typedef struct __attribute__((packed, may_alias)) {
    uint16_t done;
} msg_part_reply_t;
_Static_assert(sizeof(msg_part_reply_t) == 2, "msg_part_reply_t is packed");

#define MSG_RUN 0x0Fu
typedef struct __attribute__((packed, may_alias)) {
    uint32_t step;
    uint16_t steps;
    uint16_t count;
    uint16_t idle_ms;
} msg_run_request_t;
_Static_assert(sizeof(msg_run_request_t) == 10, "msg_run_request_t is packed");
typedef msg_step_reply_t msg_run_reply_t;

#define MSG_LAPS 0x10u

#define MSG_PROFILE 0x11u

#define MSG_BOOKINGS 0x13u

#define MSG_BOOT_LOADER 0x12u

#define MSG_MLPERF_TINY 0x14u
typedef struct __attribute__((packed, may_alias)) {
    uint8_t energy;
    uint8_t task;
    uint8_t model[16];
} msg_mlperf_tiny_request_t;
_Static_assert(sizeof(msg_mlperf_tiny_request_t) == 18, "msg_mlperf_tiny_request_t is packed");

#define MSG_SAMPLE_PART 0x16u
typedef struct __attribute__((packed, may_alias)) {
    uint16_t slot;
    uint16_t label;
    uint32_t offset;
} msg_sample_part_request_t;
_Static_assert(sizeof(msg_sample_part_request_t) == 8, "msg_sample_part_request_t is packed");

#define MSG_USE_FLASH 0x17u
typedef msg_keep_request_t msg_use_flash_request_t;
typedef msg_load_end_reply_t msg_use_flash_reply_t;

#define MSG_WRITE_TENSOR 0x19u
typedef struct __attribute__((packed, may_alias)) {
    uint8_t tensor;
    uint32_t offset;
} msg_write_tensor_request_t;
_Static_assert(sizeof(msg_write_tensor_request_t) == 5, "msg_write_tensor_request_t is packed");

#define MSG_WORK 0x18u
typedef struct __attribute__((packed, may_alias)) {
    uint64_t macs;
    uint64_t layer_runs;
    uint32_t bookings;
} msg_work_reply_t;
_Static_assert(sizeof(msg_work_reply_t) == 20, "msg_work_reply_t is packed");

#define MSG_STRETCHES 0x1Au
typedef struct __attribute__((packed, may_alias)) {
    uint16_t made;
} msg_stretches_reply_t;
_Static_assert(sizeof(msg_stretches_reply_t) == 2, "msg_stretches_reply_t is packed");

#define MSG_MARKER 0x1Bu
typedef struct __attribute__((packed, may_alias)) {
    uint8_t pulses;
} msg_marker_request_t;
_Static_assert(sizeof(msg_marker_request_t) == 1, "msg_marker_request_t is packed");

#define MSG_CHECKPOINTS 0x1Cu
typedef struct __attribute__((packed, may_alias)) {
    uint32_t room;
} msg_checkpoints_reply_t;
_Static_assert(sizeof(msg_checkpoints_reply_t) == 4, "msg_checkpoints_reply_t is packed");

#define MSG_SAVE_CHECKPOINT 0x1Du
typedef struct __attribute__((packed, may_alias)) {
    uint32_t campaign;
    uint32_t step;
} msg_save_checkpoint_request_t;
_Static_assert(sizeof(msg_save_checkpoint_request_t) == 8, "msg_save_checkpoint_request_t is packed");
typedef struct __attribute__((packed, may_alias)) {
    uint32_t sequence;
    uint8_t slot;
    uint32_t bytes;
} msg_save_checkpoint_reply_t;
_Static_assert(sizeof(msg_save_checkpoint_reply_t) == 9, "msg_save_checkpoint_reply_t is packed");

#define MSG_LOAD_CHECKPOINT 0x1Eu
typedef struct __attribute__((packed, may_alias)) {
    uint32_t sequence;
} msg_load_checkpoint_request_t;
_Static_assert(sizeof(msg_load_checkpoint_request_t) == 4, "msg_load_checkpoint_request_t is packed");
typedef struct __attribute__((packed, may_alias)) {
    uint32_t campaign;
    uint32_t step;
    uint32_t digest;
} msg_load_checkpoint_reply_t;
_Static_assert(sizeof(msg_load_checkpoint_reply_t) == 12, "msg_load_checkpoint_reply_t is packed");

#define MSG_ACK 0x40u
typedef struct __attribute__((packed, may_alias)) {
    uint16_t expected;
} msg_ack_t;
_Static_assert(sizeof(msg_ack_t) == 2, "msg_ack_t is packed");

#define MSG_NAK 0x41u
typedef msg_ack_t msg_nak_t;

#define MSG_ERROR 0x42u
typedef struct __attribute__((packed, may_alias)) {
    uint8_t code;
    uint32_t a;
    uint32_t b;
} msg_error_t;
_Static_assert(sizeof(msg_error_t) == 9, "msg_error_t is packed");

#define MSG_FAULT 0x43u
typedef struct __attribute__((packed, may_alias)) {
    uint8_t kind;
    uint32_t pc;
    uint32_t lr;
    uint32_t cfsr;
    uint32_t address;
} msg_fault_t;
_Static_assert(sizeof(msg_fault_t) == 17, "msg_fault_t is packed");

enum msg_error_code {
    MSG_ERROR_BAD_LENGTH = 1,
    MSG_ERROR_UNKNOWN_REQUEST = 2,
    MSG_ERROR_PROTOCOL = 3,
    MSG_ERROR_OUT_OF_ORDER = 4,
    MSG_ERROR_NETWORK_MAGIC = 5,
    MSG_ERROR_NETWORK_VERSION = 6,
    MSG_ERROR_NETWORK_TRUNCATED = 7,
    MSG_ERROR_NETWORK_DIGEST = 8,
    MSG_ERROR_NETWORK_LAYER = 9,
    MSG_ERROR_NO_NETWORK = 10,
    MSG_ERROR_NOT_CONFIGURED = 11,
    MSG_ERROR_DOES_NOT_FIT = 12,
    MSG_ERROR_BAD_SETTING = 13,
    MSG_ERROR_BAD_SLOT = 14,
    MSG_ERROR_BAD_TENSOR = 15,
    MSG_ERROR_SLOTS_EMPTY = 16,
    MSG_ERROR_PARTS_MISSING = 17,
    MSG_ERROR_NO_BOOT_LOADER = 18,
    MSG_ERROR_NO_ROOM = 19,
    MSG_ERROR_FLASH_FAILED = 20,
    MSG_ERROR_NO_CHECKPOINT = 21,
    MSG_ERROR_STEP_FAILED = 22,
};

enum msg_counter {
    MSG_COUNTER_NONE = 0,
    MSG_COUNTER_DWT = 1,
    MSG_COUNTER_SYSTICK = 2,
};

enum msg_phase {
    MSG_PHASE_PERTURB = 0,
    MSG_PHASE_FORWARD = 1,
    MSG_PHASE_BACKWARD = 2,
    MSG_PHASE_UPDATE = 3,
};
