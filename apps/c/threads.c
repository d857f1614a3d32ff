/* The message rate of ranks whose threads all send: MPI_THREAD_MULTIPLE.
 *
 * Of two ranks each thread has a communicator of its own and a partner at the other rank. Those of rank 0 send windows
 * of 64 messages of 8 B and wait for an answer to each; those of rank 1 receive them. Printed is one line: messages
 * per second of all threads together.
 *
 *     mpicc -O3 -pthread -o threads threads.c && mpiexec -n 2 ./threads 4 500
 */
#define _POSIX_C_SOURCE 200809L /* barriers of threads, also in strict C */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WINDOW = 64, WARM_UP = 20, MOST_THREADS = 64 };

static int rank, windows;

static void check(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "threads: rank %d: %s\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void window(MPI_Comm comm, uint64_t *data, uint64_t first)
{
    MPI_Request requests[WINDOW];

    for (int at = 0; at < WINDOW; at++) {
        if (rank == 0) {
            data[at] = first + (uint64_t)at;
            MPI_Isend(&data[at], 1, MPI_UINT64_T, 1, 0, comm, &requests[at]);
        } else {
            MPI_Irecv(&data[at], 1, MPI_UINT64_T, 0, 0, comm, &requests[at]);
        }
    }
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    if (rank == 0) {
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, comm, MPI_STATUS_IGNORE);
    } else {
        for (int at = 0; at < WINDOW; at++)
            check(data[at] == first + (uint64_t)at, "another message came than was sent");
        MPI_Send(NULL, 0, MPI_BYTE, 0, 1, comm);
    }
}

static pthread_barrier_t begun;

static void *sends(void *comm)
{
    uint64_t data[WINDOW];

    for (int nth = 0; nth < WARM_UP; nth++)
        window(*(MPI_Comm *)comm, data, (uint64_t)nth);
    pthread_barrier_wait(&begun);
    for (int nth = 0; nth < windows; nth++)
        window(*(MPI_Comm *)comm, data, (uint64_t)nth);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, size, threads = argc > 1 ? atoi(argv[1]) : 4;
    MPI_Comm comms[MOST_THREADS];
    pthread_t started[MOST_THREADS];

    windows = argc > 2 ? atoi(argv[2]) : 500;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check(provided == MPI_THREAD_MULTIPLE, "threads may not all call MPI");
    check(size == 2, "there are to be two ranks");
    check(threads >= 1 && threads <= MOST_THREADS && windows >= 1, "usage: threads [THREADS] [WINDOWS]");
    pthread_barrier_init(&begun, NULL, (unsigned)threads + 1);
    for (int nth = 0; nth < threads; nth++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[nth]);
        check(pthread_create(&started[nth], NULL, sends, &comms[nth]) == 0, "a thread cannot be started");
    }
    pthread_barrier_wait(&begun);
    double start = MPI_Wtime();
    for (int nth = 0; nth < threads; nth++)
        pthread_join(started[nth], NULL);
    double took = MPI_Wtime() - start;
    for (int nth = 0; nth < threads; nth++)
        MPI_Comm_free(&comms[nth]);
    if (rank == 1)
        printf("%.0f messages per second\n", (double)threads * windows * WINDOW / took);
    MPI_Finalize();
    return 0;
}
