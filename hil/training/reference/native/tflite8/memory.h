/* Memory of one call, freed together. */
#pragma once

#include <stddef.h>

typedef struct {
    void *last;
    int failed;
} Memory;

/* Return memory that is 0, aligned for vectors; NULL, and `failed`, where there is none. */
void *take(Memory *memory, size_t bytes);

void free_all(Memory *memory);
