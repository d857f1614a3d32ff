/* Sessions: before, beside and after MPI_Init; communicators of sets of processes. */
#include "check.h"

static MPI_Comm of_set(MPI_Session session, const char *set, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    CHECK(MPI_Group_from_session_pset(session, set, &group) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) == MPI_SUCCESS);
    MPI_Group_free(&group);
    return comm;
}

static void sum(MPI_Comm comm, int *rank, int *size)
{
    int all;
    MPI_Comm_rank(comm, rank);
    MPI_Comm_size(comm, size);
    CHECK(MPI_Allreduce(rank, &all, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(all == *size * (*size - 1) / 2);
}

int main(void)
{
    int rank, size, count, flag, length, all, code;
    char name[64];
    MPI_Session first, second;
    MPI_Info info;

    MPI_Initialized(&flag);
    CHECK(!flag);
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &first) == MPI_SUCCESS);
    MPI_Initialized(&flag);
    CHECK(!flag);

    /* Which sets there are. */
    MPI_Session_get_num_psets(first, MPI_INFO_NULL, &count);
    CHECK(count >= 2);
    for (int nth = 0; nth < count; nth++) {
        length = 0;
        MPI_Session_get_nth_pset(first, MPI_INFO_NULL, nth, &length, NULL);
        CHECK(length > 0 && length <= (int)sizeof name);
        MPI_Session_get_nth_pset(first, MPI_INFO_NULL, nth, &length, name);
        CHECK((int)strlen(name) + 1 == length);
    }
    CHECK(MPI_Session_get_pset_info(first, "mpi://SELF", &info) == MPI_SUCCESS);
    MPI_Info_get(info, "mpi_size", sizeof name - 1, name, &flag);
    CHECK(flag && strcmp(name, "1") == 0);
    MPI_Info_free(&info);
    MPI_Group group;
    code = MPI_Group_from_session_pset(first, "mpi://NOWHERE", &group);
    MPI_Error_class(code, &code);
    CHECK(code == MPI_ERR_ARG);

    /* One session at a time, and two at once. */
    MPI_Comm comm = of_set(first, "mpi://WORLD", "one");
    sum(comm, &rank, &size);
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &second) == MPI_SUCCESS);
    MPI_Comm other = of_set(second, "mpi://world", "two"), own = of_set(second, "mpi://SELF", "three");
    int one, alone;
    sum(own, &one, &alone);
    CHECK(one == 0 && alone == 1);
    sum(other, &rank, &size);
    MPI_Comm_free(&comm);

    /* Two groups that have no communicator in common. */
    if (size > 1) {
        MPI_Group everybody, low, high;
        MPI_Comm between;
        int half = size / 2;
        MPI_Comm_group(other, &everybody);
        MPI_Group_range_incl(everybody, 1, (int[1][3]){{0, half - 1, 1}}, &low);
        MPI_Group_range_incl(everybody, 1, (int[1][3]){{half, size - 1, 1}}, &high);
        MPI_Group mine = rank < half ? low : high, theirs = rank < half ? high : low;
        MPI_Intercomm_create_from_groups(mine, 0, theirs, 0, "between", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &between);
        MPI_Comm_remote_size(between, &all);
        CHECK(all == (rank < half ? size - half : half));
        MPI_Barrier(between);
        MPI_Comm_free(&between);
        MPI_Group_free(&everybody);
        MPI_Group_free(&low);
        MPI_Group_free(&high);
    }
    CHECK(MPI_Session_finalize(&first) == MPI_SUCCESS && first == MPI_SESSION_NULL);

    /* The world comes and goes meanwhile. */
    MPI_Init(NULL, NULL);
    sum(MPI_COMM_WORLD, &rank, &size);
    MPI_Finalize();
    MPI_Finalized(&flag);
    CHECK(flag);
    sum(other, &rank, &size);
    MPI_Comm_free(&own);
    MPI_Comm_free(&other);
    MPI_Session_finalize(&second);

    /* Another one, after all. */
    for (int again = 0; again < 3; again++) {
        CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &first) == MPI_SUCCESS);
        comm = of_set(first, "mpi://WORLD", "again");
        sum(comm, &rank, &size);
        MPI_Comm_free(&comm);
        MPI_Session_finalize(&first);
    }
    return 0;
}
