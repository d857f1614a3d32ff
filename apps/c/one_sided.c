/* Times one-sided operations of rank 0 on the memory of rank 1, in an epoch of all locks: each with
 * a flush. Arguments: how often, and the time in microseconds for which rank 1 computes without a
 * call while the last row is timed (0: there is no such row). Prints a row for each operation:
 * `NAME MICROSECONDS`. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { PUT, GET, FETCH_AND_OP, COMPARE_AND_SWAP, GET_ACCUMULATE, PUT_LONG, GET_LONG, OPERATIONS };

static const char *const names[] = {
    "put", "get", "fetch-and-op", "compare-and-swap", "get-accumulate", "put-1MiB", "get-1MiB",
};

enum { LONG = 1 << 20, TARGET = 1 };

static char *buffer;

static void operate(int operation, MPI_Win window)
{
    static long one = 1, none = 0, old;
    switch (operation) {
    case PUT:
        MPI_Put(&one, sizeof one, MPI_BYTE, TARGET, 64, sizeof one, MPI_BYTE, window);
        break;
    case GET:
        MPI_Get(&old, sizeof old, MPI_BYTE, TARGET, 64, sizeof old, MPI_BYTE, window);
        break;
    case FETCH_AND_OP:
        MPI_Fetch_and_op(&one, &old, MPI_LONG, TARGET, 0, MPI_SUM, window);
        break;
    case COMPARE_AND_SWAP:
        MPI_Compare_and_swap(&one, &none, &old, MPI_LONG, TARGET, 8, window);
        break;
    case GET_ACCUMULATE:
        MPI_Get_accumulate(&one, 1, MPI_LONG, &old, 1, MPI_LONG, TARGET, 16, 1, MPI_LONG, MPI_SUM, window);
        break;
    case PUT_LONG:
        MPI_Put(buffer, LONG, MPI_BYTE, TARGET, 4096, LONG, MPI_BYTE, window);
        break;
    default:
        MPI_Get(buffer, LONG, MPI_BYTE, TARGET, 4096, LONG, MPI_BYTE, window);
    }
    MPI_Win_flush(TARGET, window);
}

static double timed(int operation, int times, MPI_Win window)
{
    for (int i = 0; i < times / 10 + 1; i++)
        operate(operation, window);
    double start = MPI_Wtime();
    for (int i = 0; i < times; i++)
        operate(operation, window);
    return (MPI_Wtime() - start) / times * 1e6;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, times = argc > 1 ? atoi(argv[1]) : 1000;
    double computes = argc > 2 ? atof(argv[2]) * 1e-6 : 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *memory;
    MPI_Win window;
    buffer = calloc(LONG, 1);
    MPI_Win_allocate(4096 + LONG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    for (int i = 0; i < 4096 + LONG; i++)
        memory[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    for (int operation = 0; operation < OPERATIONS; operation++) {
        int count = operation < PUT_LONG ? times : times / 100 + 1;
        MPI_Barrier(MPI_COMM_WORLD);
        double us = rank == 0 ? timed(operation, count, window) : 0;
        if (rank == 0)
            printf("%s %.4f\n", names[operation], us);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (computes > 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        if (rank == 0) {
            operate(FETCH_AND_OP, window);
            printf("from-a-computing-target %.4f\n", (MPI_Wtime() - start) * 1e6);
        }
        while (rank == 1 && MPI_Wtime() - start < computes)
            ;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    free(buffer);
    MPI_Finalize();
    return 0;
}
