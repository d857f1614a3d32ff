/* Threads that allocate, and free what others have allocated, while others end and begin, and while the process
 * forks. */
#include "heap.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { THREADS = 4, ROUNDS = 20000, PLACES = 512, GENERATIONS = 5, FORKS = 5 };

/* A block has its length in its first word, and that word's bytes to its end. */
static size_t *_Atomic exchange[PLACES];

static size_t *make(unsigned *seed)
{
    size_t kind = rand_r(seed) % 100, most = kind < 90 ? 500 : kind < 99 ? 50000 : 5000000;
    size_t size = sizeof(size_t) + rand_r(seed) % most;
    size_t *block = malloc(size);
    CHECK(block && place_of(block) == place());
    *block = size;
    memset(block + 1, (int)(size & 0xff), size - sizeof size);
    return block;
}

static void drop(size_t *block)
{
    if (!block)
        return;
    size_t size = *block;
    unsigned char *bytes = (unsigned char *)(block + 1);
    for (size_t nth = 0; nth < size - sizeof size; nth += 1 + nth / 8)
        CHECK(bytes[nth] == (size & 0xff));
    free(block);
}

static void *work(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    for (int round = 0; round < ROUNDS; round++)
        drop(atomic_exchange(&exchange[rand_r(&seed) % PLACES], make(&seed)));
    return NULL;
}

/* A child has a copy: what it does nobody else sees. */
static void child(void)
{
    unsigned seed = (unsigned)getpid();
    for (int round = 0; round < 1000; round++)
        drop(make(&seed));
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work, (void *)(uintptr_t)7) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    _exit(0);
}

int main(void)
{
    CHECK(heap_is_preloaded());
    for (uintptr_t generation = 0; generation < GENERATIONS; generation++) {
        pthread_t threads[THREADS];
        for (uintptr_t nth = 0; nth < THREADS; nth++)
            CHECK(pthread_create(&threads[nth], NULL, work, (void *)(generation * THREADS + nth + 1)) == 0);
        for (int nth = 0; nth < FORKS; nth++) {
            int status;
            pid_t pid = fork();
            CHECK(pid >= 0);
            if (pid == 0) {
                /* What another thread was writing may be half copied. */
                for (int place = 0; place < PLACES; place++)
                    exchange[place] = NULL;
                child();
            }
            CHECK(waitpid(pid, &status, 0) == pid && status == 0);
        }
        for (int nth = 0; nth < THREADS; nth++)
            CHECK(pthread_join(threads[nth], NULL) == 0);
    }
    for (int nth = 0; nth < PLACES; nth++)
        drop(exchange[nth]);
    printf("threads are well\n");
    return 0;
}
