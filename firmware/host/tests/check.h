/* Checks and random numbers for the tests of the engine. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/settings.h"

/* End the program with a message where a condition does not hold. */
#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s does not hold: ", __FILE__, __LINE__, #condition);                              \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fprintf(stderr, "\n");                                                                                     \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Memory of exactly this size, filled with 0x5A, so that the sanitizer sees every step beyond it. */
void *take(size_t bytes);

/* The next number of a fixed sequence, in least..most. */
int32_t draw(int32_t least, int32_t most);

/* `n` values in -bound..bound, in memory of their own. */
int8_t *draw_s8(size_t n, int32_t bound);

/* The index in `configure` of the setting at a place of the structure. */
uint32_t setting_index(const settings_table_t *table, uint8_t place);

void check_s8(const int8_t *found, const int8_t *expected, size_t n, const char *what);
void check_s32(const int32_t *found, const int32_t *expected, size_t n, const char *what);

/* The groups of tests, one a file. */
void test_arith(void);
void test_floats(void);
void test_xxh32(void);
void test_forward_kernels(void);
void test_backward_kernels(void);
void test_tflite_rescale(void);
void test_tflite_forward(void);
void test_tflite_backward(void);
void test_tflite_mean(void);
void test_noise_kernels(void);
void test_loss_kernels(void);
void test_perturbation_kernels(void);
void test_zeroth_order_gradients(void);
void test_zeroth_order_updates(void);
void test_zeroth_order_losses(void);
void test_error_kernels(void);
void test_velocities(void);
void test_chain_file(void);
void test_plan(void);
void test_plan_table(void);
void test_engine(void);
void test_configure(void);
void test_followed_schedule(void);
void test_training(void);
void test_parts_and_runs(void);
void test_cycles(void);
void test_ticks(void);
void test_graph_file(void);
void test_graph_engines(void);
void test_graph_classes(void);
void test_graph_sizes(void);
void test_graph_forward(void);
void test_graph_training(void);
void test_tinytrain(void);
void test_tinytrain_choice(void);
void test_tinytrain_steps(void);
void test_tinytrain_properties(void);
void test_float32_file(void);
void test_float32_kernels(void);
void test_float32_vectors(void);
void test_float32_plan(void);
void test_affine8_shapes(void);
void test_affine8_matrices(void);
void test_w16a8(void);
void test_w16a8_file(void);
void test_qzo_ff(void);
void test_qzo_numbers(void);
void test_selection(void);
void test_qzo_steps(void);
void test_qzo_settings(void);
void test_quzo(void);
void test_quzo_steps(void);
void test_gains(void);
void test_perturbed_scales(void);
void test_affine8_numbers(void);
void test_affine8_layers(void);
void test_affine8_kernels(void);
void test_affine8_errors(void);
void test_affine8_file(void);
void test_fqt_settings(void);
void test_fqt_channels(void);
void test_fqt_plan(void);
void test_fqt_states(void);
void test_fqt_failures(void);
void test_fqt_sample(void);
void test_fqt_steps(void);
void test_fqt_optimizers(void);
