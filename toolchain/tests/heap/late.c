/* Loads a library whose constructor waits for a thread that allocates: late.c is both, as DEFINEs say. The dynamic
 * linker's lock is held meanwhile. */
#include "heap.h"
#include <dlfcn.h>
#include <pthread.h>

#ifdef LIBRARY
static void *work(void *argument)
{
    void *block = malloc(1000);
    CHECK(place_of(block) == place());
    free(block);
    return argument;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}
#else
int main(int count, char **words)
{
    CHECK(heap_is_preloaded() && count == 2);
    CHECK(dlopen(words[1], RTLD_NOW));
    return 0;
}
#endif
