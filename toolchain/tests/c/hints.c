/* The hint that has a default, and names of nodes: ranks with one name are those that share memory. */
#include "check.h"

static void is_default(MPI_Info info)
{
    char value[64] = "";
    int length = sizeof value, there = 0;
    MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &length, value, &there);
    CHECK(there && strcmp(value, "mpi,system") == 0);
}

int main(int argc, char **argv)
{
    MPI_Info info, asked;
    MPI_Session session;
    MPI_Comm copy, shared;
    int rank, size, length, there;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    is_default(MPI_INFO_ENV);
    MPI_Comm_get_info(MPI_COMM_WORLD, &info);
    is_default(info);
    MPI_Info_free(&info);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Session_get_info(session, &info);
    is_default(info);
    MPI_Info_free(&info);
    MPI_Session_finalize(&session);
    /* Nothing that is asked for changes what there is; what else was set is kept. */
    MPI_Info_create(&asked);
    MPI_Info_set(asked, "mpi_memory_alloc_kinds", "mpi,system,cuda");
    MPI_Info_set(asked, "colour", "blue");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, asked, &copy);
    MPI_Info_free(&asked);
    MPI_Comm_get_info(copy, &info);
    is_default(info);
    char colour[8] = "";
    length = sizeof colour;
    MPI_Info_get_string(info, "colour", &length, colour, &there);
    CHECK(there && strcmp(colour, "blue") == 0);
    MPI_Info_free(&info);
    MPI_Comm_free(&copy);

    char name[MPI_MAX_PROCESSOR_NAME] = "", *names = calloc(size, sizeof name);
    int *together = calloc(size, sizeof *together), first = rank;
    MPI_Get_processor_name(name, &length);
    CHECK(length > 0 && length == (int) strlen(name));
    MPI_Allgather(name, sizeof name, MPI_CHAR, names, sizeof name, MPI_CHAR, MPI_COMM_WORLD);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, shared);
    MPI_Allgather(&first, 1, MPI_INT, together, 1, MPI_INT, MPI_COMM_WORLD);
    for (int other = 0; other < size; other++)
        CHECK((together[other] == first) == (strcmp(names + other * sizeof name, name) == 0));
    MPI_Comm_free(&shared);
    free(names);
    free(together);
    MPI_Finalize();
    return 0;
}
