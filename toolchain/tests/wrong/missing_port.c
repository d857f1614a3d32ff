/* A port that no rank has opened, on a communicator whose errors end the job: it names that, and a rank in it. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Comm ocean, child;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &ocean);
    MPI_Comm_set_name(ocean, "ocean");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_connect("nobody", MPI_INFO_NULL, size - 1, ocean, &child); /* here */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
