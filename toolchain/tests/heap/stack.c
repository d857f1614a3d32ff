/* A thread whose stack lies in the heap forks: where that is a slot the process ends with a message. */
#include "heap.h"
#include <mpi.h>
#include <pthread.h>
#include <sys/wait.h>

static void *forks(void *nothing)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    return nothing;
}

int main(void)
{
    enum { BYTES = 1 << 20 };
    pthread_attr_t attributes;
    pthread_t thread;

    MPI_Init(NULL, NULL);
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstack(&attributes, aligned_alloc(4096, BYTES), BYTES) == 0);
    CHECK(pthread_create(&thread, &attributes, forks, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    MPI_Finalize();
    return 0;
}
