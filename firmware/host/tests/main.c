#include <string.h>

#include "check.h"

void *take(size_t bytes) {
    void *memory = malloc(bytes == 0 ? 1 : bytes);
    CHECK(memory != NULL, "no memory");
    memset(memory, 0x5A, bytes);
    return memory;
}

int32_t draw(int32_t least, int32_t most) {
    static uint64_t state = 0x9E3779B97F4A7C15u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const uint64_t range = (uint64_t)((int64_t)most - least) + 1;
    return (int32_t)(least + (int64_t)((state >> 16) % range));
}

int8_t *draw_s8(size_t n, int32_t bound) {
    int8_t *values = take(n);
    for (size_t i = 0; i < n; i++) {
        values[i] = (int8_t)draw(-bound, bound);
    }
    return values;
}

uint32_t setting_index(const settings_table_t *table, uint8_t place) {
    uint32_t index = 0;
    while (table->settings[index].place != place) {
        index++;
    }
    return index;
}

void check_s8(const int8_t *found, const int8_t *expected, size_t n, const char *what) {
    for (size_t i = 0; i < n; i++) {
        CHECK(found[i] == expected[i], "%s, element %zu: %d, not %d", what, i, found[i], expected[i]);
    }
}

void check_s32(const int32_t *found, const int32_t *expected, size_t n, const char *what) {
    for (size_t i = 0; i < n; i++) {
        CHECK(found[i] == expected[i], "%s, element %zu: %d, not %d", what, i, found[i], expected[i]);
    }
}

int main(void) {
    static const struct {
        const char *name;
        void (*run)(void);
    } groups[] = {
        {"arith", test_arith},
        {"floats", test_floats},
        {"xxh32", test_xxh32},
        {"forward kernels", test_forward_kernels},
        {"backward kernels", test_backward_kernels},
        {"tflite rescale", test_tflite_rescale},
        {"tflite forward", test_tflite_forward},
        {"tflite backward", test_tflite_backward},
        {"tflite mean and table", test_tflite_mean},
        {"noise kernels", test_noise_kernels},
        {"loss kernels", test_loss_kernels},
        {"perturbation kernels", test_perturbation_kernels},
        {"zeroth-order gradients", test_zeroth_order_gradients},
        {"zeroth-order updates", test_zeroth_order_updates},
        {"zeroth-order losses, adds and folds", test_zeroth_order_losses},
        {"errors through a graph", test_error_kernels},
        {"velocities", test_velocities},
        {"chain file", test_chain_file},
        {"plan", test_plan},
        {"table of the plan", test_plan_table},
        {"engine", test_engine},
        {"configure", test_configure},
        {"followed schedule", test_followed_schedule},
        {"training", test_training},
        {"parts and runs", test_parts_and_runs},
        {"cycles", test_cycles},
        {"ticks", test_ticks},
        {"graph file", test_graph_file},
        {"graph engines", test_graph_engines},
        {"many classes", test_graph_classes},
        {"graph sizes", test_graph_sizes},
        {"graph forward", test_graph_forward},
        {"graph training", test_graph_training},
        {"tinytrain", test_tinytrain},
        {"tinytrain choice", test_tinytrain_choice},
        {"tinytrain steps", test_tinytrain_steps},
        {"tinytrain properties", test_tinytrain_properties},
        {"float32 file", test_float32_file},
        {"float32 kernels", test_float32_kernels},
        {"float32 vectors", test_float32_vectors},
        {"float32 plan", test_float32_plan},
        {"affine8 shapes", test_affine8_shapes},
        {"affine8 matrices", test_affine8_matrices},
        {"w16a8", test_w16a8},
        {"w16a8 file", test_w16a8_file},
        {"qzo-ff", test_qzo_ff},
        {"qzo-ff numbers", test_qzo_numbers},
        {"selections and moments", test_selection},
        {"qzo-ff steps", test_qzo_steps},
        {"qzo-ff settings", test_qzo_settings},
        {"quzo", test_quzo},
        {"quzo steps", test_quzo_steps},
        {"gains", test_gains},
        {"perturbed scales", test_perturbed_scales},
        {"affine8 numbers", test_affine8_numbers},
        {"affine8 layers", test_affine8_layers},
        {"affine8 kernels", test_affine8_kernels},
        {"affine8 errors", test_affine8_errors},
        {"affine8 file", test_affine8_file},
        {"fqt settings", test_fqt_settings},
        {"fqt channels", test_fqt_channels},
        {"fqt plan", test_fqt_plan},
        {"fqt states", test_fqt_states},
        {"fqt failures", test_fqt_failures},
        {"fqt sample", test_fqt_sample},
        {"fqt steps", test_fqt_steps},
        {"fqt optimizers", test_fqt_optimizers},
    };
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        groups[i].run();
        printf("%s: passed\n", groups[i].name);
    }
    return 0;
}
