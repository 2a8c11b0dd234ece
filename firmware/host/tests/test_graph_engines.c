/* A good file that an engine refuses: no room, no format, a method of another format. */
#include "check.h"
#include "graph/checks.h"
#include "graph_made.h"
#include "graph_trainee.h"
#include "trainer/registry.h"

/* Load a file and configure it with settings of tflite8. */
static failure_t train_as(const graph_made_t *made, const format_t *const *formats, const method_t *method) {
    const tflite8_settings_t settings = trainee_settings();
    engine_t *engine = take(sizeof *engine);
    uint8_t *arena = take(made->size);
    uint32_t planned;
    engine_init(engine, formats, arena, made->size, NULL);
    CHECK(engine_load_begin(engine, made->size).code == 0, "load_begin");
    CHECK(engine_load_data(engine, 0, made->bytes, made->size).code == 0, "load_data");
    failure_t failure = engine_load_end(engine);
    if (failure.code == 0) {
        failure = engine_configure(engine, method, &settings, &planned);
    }
    free(arena);
    free(engine);
    return failure;
}

static void expect_of_format(failure_t failure, const char *what) {
    CHECK(failure.code == FAILURE_NETWORK_LAYER && failure.a == 0 && failure.b == CHECK_FORMAT,
          "%s: code %u, a %u, b %u", what, failure.code, failure.a, failure.b);
}

void test_graph_engines(void) {
    static const format_t *const none[] = {NULL};
    graph_made_t made;
    made_small(&made);
    CHECK(train_as(&made, registry_formats, registry_method(METHOD_BP)).code == FAILURE_DOES_NOT_FIT, "the format");
    expect_of_format(train_as(&made, none, registry_method(METHOD_BP)), "no format");
    expect_of_format(train_as(&made, registry_formats, registry_method(METHOD_ELASTICZO_INT8)),
                     "a method of another format");
    made_free(&made);
}
