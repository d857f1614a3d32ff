/* The bytes that the program and the glue have allocated. The library's own memory is not among
 * them, because it has a heap of its own. */
#include <stddef.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

static __thread size_t allocated;

void *malloc(size_t size)
{
    allocated += size;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocated += count * size;
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    allocated += size;
    return __libc_realloc(block, size);
}

void free(void *block)
{
    __libc_free(block);
}

size_t bytes_allocated(void)
{
    return allocated;
}
