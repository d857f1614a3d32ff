/* A wrong argument of one rank in a collective: those who wait for it are told which rank called what, and the
   communicator goes on. */
#include "check.h"

#define MOST 6000

static int rank, size, wrong, count;
static int sent[8 * MOST], got[8 * MOST], counts[8], places[8], bytes[8];
static MPI_Datatype types[8];
static MPI_Comm comm;

static void twice(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void) type;
    for (int i = 0; i < *len; i++)
        ((int *) inout)[i] += ((int *) in)[i];
}

/* The next collective is right on all ranks. */
static void goes_on(void)
{
    int own = rank + 1, sum = 0;
    CHECK(MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(sum == size * (size + 1) / 2);
}

/* What a call has come to of which this rank has to be told, or may be. */
static void came(const char *name, int code, int class, int has_to_be)
{
    char text[MPI_MAX_ERROR_STRING], who[100];
    int length;
    MPI_Error_string(code, text, &length);
    snprintf(who, sizeof who, "rank %d called %s with ", wrong, name);
    int is_told = class_of(code) == class && strstr(text, who) != NULL;
    int knows = class_of(code) == class && strstr(text, name) != NULL && strstr(text, "called") == NULL;
    int is_fine = rank == wrong ? knows : is_told || (!has_to_be && code == MPI_SUCCESS);
    if (!is_fine) {
        fprintf(stderr, "rank %d of %d, count %d, wrong is %d: %s: %s\n", rank, size, count, wrong, name, text);
        exit(1);
    }
    goes_on();
}

#define IS_WRONG (rank == wrong)
#define OR_NULL(buffer) (IS_WRONG ? NULL : (buffer))

static void to_and_from_a_root(int root)
{
    int at_root = rank == root, root_is_wrong = wrong == root;
    came("MPI_Bcast", MPI_Bcast(OR_NULL(sent), count, MPI_INT, root, comm), MPI_ERR_BUFFER, root_is_wrong);
    came("MPI_Bcast", MPI_Bcast(sent, IS_WRONG ? -1 : count, MPI_INT, root, comm), MPI_ERR_COUNT, root_is_wrong);
    came("MPI_Bcast", MPI_Bcast(sent, count, MPI_INT, IS_WRONG ? size : root, comm), MPI_ERR_ROOT, root_is_wrong);
    came("MPI_Reduce", MPI_Reduce(OR_NULL(sent), got, count, MPI_INT, MPI_SUM, root, comm), MPI_ERR_BUFFER, at_root);
    came("MPI_Reduce", MPI_Reduce(sent, got, count, MPI_INT, IS_WRONG ? MPI_OP_NULL : MPI_SUM, root, comm),
         MPI_ERR_OP, at_root);
    came("MPI_Gather", MPI_Gather(OR_NULL(sent), count, MPI_INT, root_is_wrong ? NULL : got, count, MPI_INT, root, comm),
         MPI_ERR_BUFFER, at_root);
    came("MPI_Gather", MPI_Gather(sent, count, MPI_INT, got, count, MPI_INT, IS_WRONG ? -7 : root, comm),
         MPI_ERR_ROOT, at_root && !root_is_wrong);
    came("MPI_Gatherv", MPI_Gatherv(sent, count, IS_WRONG ? MPI_DATATYPE_NULL : MPI_INT, got, counts, places, MPI_INT,
                                    root, comm),
         MPI_ERR_TYPE, at_root);
    came("MPI_Scatter", MPI_Scatter(sent, count, MPI_INT, OR_NULL(got), count, MPI_INT, root, comm), MPI_ERR_BUFFER,
         root_is_wrong);
    came("MPI_Scatter", MPI_Scatter(sent, count, MPI_INT, got, count, MPI_INT, IS_WRONG ? size : root, comm),
         MPI_ERR_ROOT, root_is_wrong);
    came("MPI_Scatterv", MPI_Scatterv(sent, counts, places, MPI_INT, got, IS_WRONG ? -2 : count, MPI_INT, root, comm),
         MPI_ERR_COUNT, root_is_wrong);
}

static void to_all(void)
{
    MPI_Op op;
    MPI_Op_create(twice, 1, &op);
    came("MPI_Allreduce", MPI_Allreduce(OR_NULL(sent), got, count, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER, 1);
    came("MPI_Allreduce", MPI_Allreduce(sent, got, count, IS_WRONG ? MPI_DATATYPE_NULL : MPI_INT, MPI_SUM, comm),
         MPI_ERR_TYPE, 1);
    came("MPI_Allreduce", MPI_Allreduce(sent, got, count, MPI_INT, IS_WRONG ? MPI_OP_NULL : MPI_MAX, comm), MPI_ERR_OP, 1);
    came("MPI_Allreduce", MPI_Allreduce(OR_NULL(sent), got, count, MPI_INT, op, comm), MPI_ERR_BUFFER, 1);
    came("MPI_Allgather", MPI_Allgather(OR_NULL(sent), count, MPI_INT, got, count, MPI_INT, comm), MPI_ERR_BUFFER, 1);
    came("MPI_Allgatherv", MPI_Allgatherv(sent, count, MPI_INT, got, OR_NULL(counts), places, MPI_INT, comm), MPI_ERR_ARG,
         1);
    came("MPI_Alltoall", MPI_Alltoall(sent, count, MPI_INT, OR_NULL(got), count, MPI_INT, comm), MPI_ERR_BUFFER, 1);
    came("MPI_Alltoall", MPI_Alltoall(sent, IS_WRONG ? -1 : count, MPI_INT, got, count, MPI_INT, comm), MPI_ERR_COUNT, 1);
    came("MPI_Alltoallv", MPI_Alltoallv(OR_NULL(sent), counts, places, MPI_INT, got, counts, places, MPI_INT, comm),
         MPI_ERR_BUFFER, 1);
    came("MPI_Alltoallw", MPI_Alltoallw(sent, counts, bytes, IS_WRONG ? NULL : types, got, counts, bytes, types, comm),
         MPI_ERR_ARG, 1);
    came("MPI_Reduce_scatter_block", MPI_Reduce_scatter_block(OR_NULL(sent), got, count, MPI_INT, MPI_SUM, comm),
         MPI_ERR_BUFFER, 1);
    came("MPI_Reduce_scatter", MPI_Reduce_scatter(sent, got, OR_NULL(counts), MPI_INT, MPI_SUM, comm), MPI_ERR_ARG, 1);
    came("MPI_Reduce_scatter", MPI_Reduce_scatter(OR_NULL(sent), got, counts, MPI_INT, op, comm), MPI_ERR_BUFFER, 1);
    came("MPI_Scan", MPI_Scan(OR_NULL(sent), got, count, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER, rank > wrong);
    came("MPI_Exscan", MPI_Exscan(OR_NULL(sent), got, count, MPI_INT, op, comm), MPI_ERR_BUFFER, rank > wrong);
    MPI_Op_free(&op);
}

/* One that does not wait tells its own rank at once. */
static void waited_for(const char *name, int code, MPI_Request *request, int class, int has_to_be)
{
    CHECK((code != MPI_SUCCESS) == IS_WRONG);
    if (code == MPI_SUCCESS)
        code = MPI_Wait(request, MPI_STATUS_IGNORE);
    came(name, code, class, has_to_be);
}

static void that_do_not_wait(int root)
{
    MPI_Request request;
    int code = MPI_Iallreduce(OR_NULL(sent), got, count, MPI_INT, MPI_SUM, comm, &request);
    waited_for("MPI_Iallreduce", code, &request, MPI_ERR_BUFFER, 1);
    code = MPI_Ialltoall(sent, count, MPI_INT, OR_NULL(got), count, MPI_INT, comm, &request);
    waited_for("MPI_Ialltoall", code, &request, MPI_ERR_BUFFER, 1);
    code = MPI_Ibarrier(comm, OR_NULL(&request));
    waited_for("MPI_Ibarrier", code, &request, MPI_ERR_ARG, 1);
    code = MPI_Igather(sent, count, MPI_INT, got, count, MPI_INT, IS_WRONG ? size : root, comm, &request);
    waited_for("MPI_Igather", code, &request, MPI_ERR_ROOT, rank == root);
    /* Several at a time. */
    MPI_Request three[3];
    int codes[3];
    codes[0] = MPI_Iallgather(OR_NULL(sent), 1, MPI_INT, got, 1, MPI_INT, comm, &three[0]);
    codes[1] = MPI_Iallreduce(sent, got + MOST, 1, MPI_INT, MPI_SUM, comm, &three[1]);
    codes[2] = MPI_Ibcast(OR_NULL(sent + MOST), 1, MPI_INT, wrong, comm, &three[2]);
    for (int i = 0; i < 3; i++) {
        if (codes[i] == MPI_SUCCESS)
            codes[i] = MPI_Wait(&three[i], MPI_STATUS_IGNORE);
    }
    CHECK(codes[1] == MPI_SUCCESS);
    came("MPI_Iallgather", codes[0], MPI_ERR_BUFFER, 1);
    came("MPI_Ibcast", codes[2], MPI_ERR_BUFFER, 1);
}

static void kept(void)
{
    MPI_Request request;
    int code = MPI_Alltoall_init(sent, count, IS_WRONG ? MPI_DATATYPE_NULL : MPI_INT, got, count, MPI_INT, comm,
                                 MPI_INFO_NULL, &request);
    came("MPI_Alltoall_init", code, MPI_ERR_TYPE, 1);
    /* What an init does not look at, a start does. */
    CHECK(MPI_Allreduce_init(OR_NULL(sent), got, count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request) == MPI_SUCCESS);
    for (int nth = 0; nth < 3; nth++) {
        code = MPI_Start(&request);
        waited_for("MPI_Start (MPI_Allreduce_init)", code, &request, MPI_ERR_BUFFER, 1);
    }
    MPI_Request_free(&request);
    CHECK(MPI_Alltoall_init(OR_NULL(sent), count, MPI_INT, got, count, MPI_INT, comm, MPI_INFO_NULL, &request)
          == MPI_SUCCESS);
    code = MPI_Start(&request);
    waited_for("MPI_Start (MPI_Alltoall_init)", code, &request, MPI_ERR_BUFFER, 1);
    MPI_Request_free(&request);
}

static void among_neighbours(void)
{
    int periodic = 1;
    MPI_Comm ring;
    CHECK(MPI_Cart_create(comm, 1, &size, &periodic, 0, &ring) == MPI_SUCCESS);
    int code = MPI_Neighbor_alltoall(OR_NULL(sent), count, MPI_INT, got, count, MPI_INT, ring);
    int beside = (rank + 1) % size == wrong || (wrong + 1) % size == rank;
    came("MPI_Neighbor_alltoall", code, MPI_ERR_BUFFER, beside);
    CHECK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, ring) == MPI_SUCCESS);
    CHECK(got[0] == (rank + size - 1) % size && got[1] == (rank + 1) % size);
    MPI_Comm_free(&ring);
}

static void that_make_communicators(void)
{
    MPI_Comm made;
    MPI_Group group;
    int dims = IS_WRONG ? -3 : size, periodic = 0;
    MPI_Comm_group(comm, &group);
    came("MPI_Comm_split", MPI_Comm_split(comm, IS_WRONG ? -5 : 0, 0, &made), MPI_ERR_ARG, 1);
    came("MPI_Comm_create", MPI_Comm_create(comm, IS_WRONG ? MPI_GROUP_NULL : group, &made), MPI_ERR_GROUP, 1);
    came("MPI_Comm_dup", MPI_Comm_dup(comm, OR_NULL(&made)), MPI_ERR_ARG, 1);
    came("MPI_Cart_create", MPI_Cart_create(comm, 1, &dims, &periodic, 0, &made), MPI_ERR_DIMS, 1);
    MPI_Group_free(&group);
}

static void between_groups(void)
{
    MPI_Comm half, both;
    MPI_Comm_split(comm, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, comm, rank % 2 ? 0 : 1, 17, &both);
    MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
    int across = rank % 2 != wrong % 2, code, remote;
    char text[MPI_MAX_ERROR_STRING], who[100];
    MPI_Comm_remote_size(both, &remote);
    for (int nth = 0; nth < 3; nth++) {
        int root = wrong % 2 == rank % 2 ? MPI_PROC_NULL : wrong / 2;
        if (nth == 0)
            code = MPI_Allgather(OR_NULL(sent), count, MPI_INT, got, count, MPI_INT, both);
        else if (nth == 1)
            code = MPI_Bcast(OR_NULL(sent), count, MPI_INT, IS_WRONG ? MPI_ROOT : root, both);
        else
            code = MPI_Alltoall(sent, IS_WRONG ? -1 : count, MPI_INT, got, count, MPI_INT, both);
        MPI_Error_string(code, text, &(int) {0});
        snprintf(who, sizeof who, "rank %d of the world called MPI_", wrong);
        CHECK(IS_WRONG ? code != MPI_SUCCESS : across ? strstr(text, who) != NULL : 1);
        CHECK(MPI_Allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, both) == MPI_SUCCESS);
        CHECK(got[0] == !(rank % 2));
    }
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

/* All together. */
static void of_all(void)
{
    CHECK(class_of(MPI_Bcast(sent, 1, MPI_INT, -1, comm)) == MPI_ERR_ROOT);
    CHECK(class_of(MPI_Allreduce(sent, got, 1, MPI_INT, MPI_OP_NULL, comm)) == MPI_ERR_OP);
    CHECK(class_of(MPI_Alltoall(sent, -1, MPI_INT, got, 1, MPI_INT, comm)) == MPI_ERR_COUNT);
    goes_on();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int lens = 0; lens < 2; lens++) {
        count = lens ? MOST : 2;
        for (int i = 0; i < size; i++) {
            counts[i] = count;
            places[i] = i * count;
            bytes[i] = places[i] * (int) sizeof(int);
            types[i] = MPI_INT;
        }
        for (int which = 0; which < 2 && size > 1; which++) {
            wrong = which ? size - 1 : 0;
            to_and_from_a_root(wrong);
            to_and_from_a_root((wrong + 1) % size);
            to_all();
            that_do_not_wait((wrong + 1) % size);
            kept();
            among_neighbours();
            that_make_communicators();
            between_groups();
        }
        of_all();
    }
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
