#include <mpi.h>

static int value = 12;

/* What languages.f90 passes. Returns which check failed. */
int in_c(int comm, int datatype, int key, const MPI_F08_status *f08, int *made)
{
    MPI_Comm comm_c = MPI_Comm_f2c(comm);
    MPI_Datatype datatype_c = MPI_Type_f2c(datatype), three;
    MPI_Status status;
    MPI_Fint old[MPI_F_STATUS_SIZE];
    MPI_Aint *kept;
    int size, flag, count;
    if (MPI_Comm_size(comm_c, &size) != MPI_SUCCESS || size < 1)
        return 1;
    if (MPI_Type_size(datatype_c, &size) != MPI_SUCCESS || size != 8)
        return 2;
    /* C gets the address of a value that Fortran has set. */
    if (MPI_Comm_get_attr(comm_c, key, &kept, &flag) != MPI_SUCCESS || !flag || *kept != 4711)
        return 3;
    if (MPI_Comm_set_attr(comm_c, key, &value) != MPI_SUCCESS)
        return 4;
    MPI_Status_f082c(f08, &status);
    if (status.MPI_TAG != 5 || MPI_Get_count(&status, MPI_INT, &count) != MPI_SUCCESS || count != 1)
        return 5;
    MPI_Status_f082f(f08, old);
    if (old[MPI_F_TAG] != 5)
        return 6;
    if (MPI_Type_contiguous(3, datatype_c, &three) != MPI_SUCCESS)
        return 7;
    *made = MPI_Type_c2f(three);
    return 0;
}
