/* A tool: counts what a program calls, and says it at the end. */
#include <mpi.h>
#include <stdio.h>

static int sends, waits;

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int MPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status *array_of_statuses)
{
    waits++;
    return PMPI_Waitall(count, array_of_requests, array_of_statuses);
}

int MPI_Finalize(void)
{
    printf("counted %d sends and %d waits\n", sends, waits);
    return PMPI_Finalize();
}
