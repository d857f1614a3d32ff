/* A program with a malloc of its own keeps it, and the library has the slot for itself. */
#include "heap.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

static size_t calls;

void *malloc(size_t size)
{
    calls++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return __libc_realloc(block, size);
}

void free(void *block)
{
    __libc_free(block);
}

static void own_malloc_is_called(void)
{
    size_t before = calls;
    void *volatile block = malloc(100);
    CHECK(heap_is_preloaded() && calls > before && place_of(block) == -1);
    free(block);
}

#define main messages_main
#include "messages.c"
#undef main

int main(void)
{
    own_malloc_is_called();
    return messages_main();
}
