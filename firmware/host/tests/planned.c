#include "planned.h"

#include <string.h>

#include "check.h"
#include "trainer/registry.h"

planned_t *planned_open(const graph_made_t *made) {
    planned_t *planned = take(sizeof *planned);
    planned->model = (model_t){.formats = registry_formats, .method = &elasticzo_int8, .in_ram = true};
    const failure_t failure = graph_file_open(&planned->model.file, made->bytes, made->size);
    CHECK(failure.code == 0, "code %u, a %u, b %u", failure.code, failure.a, failure.b);
    return planned;
}

uint32_t planned_make(planned_t *planned, elasticzo_settings_t settings) {
    model_t *model = &planned->model;
    memcpy(model->settings_bytes, &settings, sizeof settings);
    model->training = elasticzo_int8.training(&model->settings, &model->file);
    const uint32_t size = model_plan(model);
    plan_t again = model->plan;
    planned->placed = plan_open(&again, planned->buffer, PLAN_MAX_BUFFERS);
    elasticzo_demand(&planned->placed, model, (start_t){.from = 0, .to = model->file.layers});
    while (planned->placed.count > 0 && planned->placed.buffer[planned->placed.count - 1].bytes == 0) {
        planned->placed.count--; /* in the memory of another */
    }
    return size;
}
