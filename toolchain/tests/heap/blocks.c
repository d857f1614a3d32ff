/* Every function that allocates, as a program of its own: is the block where it is to be (in the slot, or, with the
 * argument `own`, in none), aligned, and the reader's alone? */
#include "heap.h"

static long expected;

static void *checked(void *block, size_t size, size_t alignment)
{
    CHECK(block);
    CHECK(place_of(block) == expected);
    CHECK((uintptr_t)block % alignment == 0);
    CHECK(malloc_usable_size(block) >= size);
    memset(block, 0x5a, size);
    return block;
}

static void kinds(size_t size)
{
    void *aligned = NULL;
    unsigned char *zeroes = calloc(size, 1);
    CHECK(zeroes && place_of(zeroes) == expected);
    for (size_t nth = 0; nth < size; nth++)
        CHECK(zeroes[nth] == 0);
    free(zeroes);
    free(checked(malloc(size), size, 16));
    free(checked(realloc(NULL, size), size, 16));
    free(checked(reallocarray(NULL, size, 1), size, 16));
    for (size_t alignment = 8; alignment <= 1 << 22; alignment *= 2) {
        /* A multiple of the alignment, as C has it: sanitizers insist. */
        size_t whole = (size + alignment - 1) / alignment * alignment;
        free(checked(aligned_alloc(alignment, whole), whole, alignment));
        free(checked(memalign(alignment, size), size, alignment));
        CHECK(posix_memalign(&aligned, alignment, size) == 0);
        free(checked(aligned, size, alignment));
    }
    free(checked(valloc(size), size, 4096));
    free(checked(pvalloc(size), (size + 4095) / 4096 * 4096, 4096));
}

/* Grows to 100 MB and back; what was written stays. */
static void growth(void)
{
    size_t size = 1, filled = 0;
    unsigned char *block = NULL;
    for (; size < 100000000; size = size * 3 / 2 + 1) {
        block = realloc(block, size);
        CHECK(block && place_of(block) == expected);
        for (; filled < size; filled++)
            block[filled] = (unsigned char)(filled * 7);
    }
    for (; size > 1; size /= 2) {
        block = realloc(block, size);
        CHECK(block && place_of(block) == expected);
        for (size_t nth = 0; nth < size && nth < filled; nth += 1 + size / 1000)
            CHECK(block[nth] == (unsigned char)(nth * 7));
    }
    free(block);
}

/* What the C library says, in the same words. */
static void refusals(void)
{
    void *block, *untouched = &block;
    volatile size_t too_much = SIZE_MAX - 100, half = SIZE_MAX / 2;

    errno = 0;
    CHECK(!malloc(too_much) && errno == ENOMEM);
    errno = 0;
    CHECK(!calloc(half, 3) && errno == ENOMEM);
    errno = 0;
    block = malloc(10);
    CHECK(!reallocarray(block, half, 3) && errno == ENOMEM);
    errno = 0;
    CHECK(!realloc(block, too_much) && errno == ENOMEM);
    free(block);
    CHECK(posix_memalign(&untouched, 24, 10) == EINVAL && untouched == &block);
    CHECK(posix_memalign(&untouched, 2, 10) == EINVAL && untouched == &block);
    CHECK(posix_memalign(&untouched, 64, too_much) == ENOMEM && untouched == &block);
    block = malloc(0);
    CHECK(block);
    CHECK(realloc(block, 0) == NULL);
    free(NULL);
    CHECK(malloc_usable_size(NULL) == 0);
    /* free leaves errno alone, also where it gives memory back to the system. */
    for (size_t size = 1; size <= 1 << 28; size *= 8) {
        block = malloc(size);
        errno = 77;
        free(block);
        CHECK(errno == 77);
    }
    malloc_trim(0);
}

int main(int count, char **words)
{
    expected = count > 1 && !strcmp(words[1], "own") ? -1 : place();
    CHECK(heap_is_preloaded() == (expected >= 0));
    for (size_t size = 1; size <= 10000000; size = size * 3 + 1)
        kinds(size);
    growth();
    refusals();
    /* The C library's own. */
    char *line = strdup("a line");
    CHECK(line && place_of(line) == expected);
    free(line);
    printf("blocks are well\n");
    return 0;
}
