/* How much of a large block lies in huge pages, once it was touched: they are asked for where the slot's file can have
 * them. A small block asks for none. */
#include "heap.h"

/* KiB of huge pages in the mapping that an address lies in. */
static long huge_kib(const void *address)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    unsigned long from, to;
    int is_it = 0;
    long kib = -1;
    CHECK(maps);
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            is_it = from <= (uintptr_t)address && (uintptr_t)address < to;
        else if (is_it && sscanf(line, "ShmemPmdMapped: %ld", &kib) == 1)
            break;
    }
    fclose(maps);
    return kib;
}

int main(void)
{
    const char *folder = getenv("BCS_SLOT_FOLDER");
    const size_t large = 64 << 20, small = 64 << 10;
    char *block = malloc(large), *other = malloc(small);
    CHECK(block && other && place_of(block) == place() && place_of(other) == place());
    memset(block, 1, large);
    memset(other, 1, small);
    if (!folder || !*folder) {
        printf("this machine grants no mount\n");
        return 0;
    }
    /* Some may be missing where memory is short of whole ones. */
    CHECK(huge_kib(block + large / 2) >= (long)(large >> 11));
    CHECK(huge_kib(other) == 0);
    /* What is given back reads as zero when it is taken again. */
    free(block);
    block = calloc(large, 1);
    CHECK(block);
    for (size_t at = 0; at < large; at += 4093)
        CHECK(block[at] == 0);
    free(block);
    free(other);
    printf("huge pages\n");
    return 0;
}
