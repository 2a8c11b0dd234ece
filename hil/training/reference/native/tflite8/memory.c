/* Memory of one call: each piece begins with the address of the one before. */
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { ALIGNMENT = 64 };

void *take(Memory *memory, size_t bytes) {
    size_t whole = (bytes + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    char *found = memory->failed ? NULL : aligned_alloc(ALIGNMENT, whole);
    if (!found) {
        memory->failed = 1;
        return NULL;
    }
    memset(found, 0, whole);
    *(void **)(void *)found = memory->last;
    memory->last = found;
    return found + ALIGNMENT;
}

void free_all(Memory *memory) {
    while (memory->last) {
        void *before = *(void **)memory->last;
        free(memory->last);
        memory->last = before;
    }
}
