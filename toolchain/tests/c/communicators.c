/* Communicators come, are numbered, compared and go. */
#include "check.h"

int main(int argc, char **argv)
{
    int rank, size, part_rank, part_size, result;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Comm copy, part, none, grid;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_compare(MPI_COMM_WORLD, copy, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_set_name(copy, "a copy");
    MPI_Comm_get_name(copy, name, &result);
    CHECK(result == 6 && strcmp(name, "a copy") == 0);

    MPI_Comm_split(copy, rank % 2, -rank, &part);
    MPI_Comm_rank(part, &part_rank);
    MPI_Comm_size(part, &part_size);
    CHECK(part_size == (size + 1 - rank % 2) / 2);
    CHECK(part_rank == part_size - 1 - rank / 2);
    MPI_Comm_split(copy, MPI_UNDEFINED, 0, &none);
    CHECK(none == MPI_COMM_NULL);

    int dims[2] = {0, 0}, periods[2] = {1, 0}, source, destination;
    MPI_Dims_create(size, 2, dims);
    CHECK(dims[0] * dims[1] == size);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Cart_shift(grid, 0, 1, &source, &destination);
    CHECK(source >= 0 && destination >= 0);
    MPI_Cart_shift(grid, 1, dims[1], &source, &destination);
    CHECK(source == MPI_PROC_NULL && destination == MPI_PROC_NULL);

    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    int last = size - 1;
    MPI_Group_incl(world, 1, &last, &group);
    MPI_Group_rank(group, &result);
    CHECK(result == (rank == last ? 0 : MPI_UNDEFINED));
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    CHECK(group == MPI_GROUP_NULL);

    CHECK(MPI_Comm_fromint(MPI_Comm_toint(part)) == part);
    MPI_Comm stale = part;
    MPI_Comm_free(&part);
    CHECK(part == MPI_COMM_NULL);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&grid);
#ifndef MPICH /* There a handle is the integer, whatever it stands for. */
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(stale)) != stale);
#endif
    MPI_Finalize();
    return 0;
}
