/* MPI_Comm_idup: duplications that overlap, and come to their ends in any order. */
#include "check.h"

enum { MANY = 12 };

static int copies;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    copies++;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int rank, size, result, key, flag, sum, value = 7, *found;
    MPI_Comm half, made[MANY];
    MPI_Request requests[MANY + 1];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value);

    /* Of several communicators, with a collective in between; and others wait for a message meanwhile. */
    for (int round = 0; round < 20; round++) {
        for (int nth = 0; nth < MANY; nth++) {
            MPI_Comm of = nth % 3 == 0 ? half : nth % 3 == 1 ? MPI_COMM_WORLD : MPI_COMM_SELF;
            CHECK(MPI_Comm_idup(of, &made[nth], &requests[nth]) == MPI_SUCCESS);
            /* What becomes of errors is said before it is there. */
            CHECK(MPI_Comm_set_errhandler(made[nth], MPI_ERRORS_RETURN) == MPI_SUCCESS);
            if (nth == MANY / 2)
                MPI_Ibarrier(MPI_COMM_WORLD, &requests[MANY]);
        }
        if (rank == 0 && size > 1) {
            /* Whoever waits here goes on with the duplications all the same. */
            MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
            MPI_Send(&round, 1, MPI_INT, size - 1, 5, MPI_COMM_WORLD);
        } else if (rank == size - 1 && size > 1) {
            MPI_Recv(&result, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(result == round);
        }
        for (int nth = MANY - 1; nth >= 0; nth--)
            MPI_Wait(&requests[nth], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[MANY], MPI_STATUS_IGNORE);
        for (int nth = 0; nth < MANY; nth++) {
            MPI_Comm of = nth % 3 == 0 ? half : nth % 3 == 1 ? MPI_COMM_WORLD : MPI_COMM_SELF;
            MPI_Comm_compare(of, made[nth], &result);
            CHECK(result == MPI_CONGRUENT);
            MPI_Comm_get_attr(made[nth], key, &found, &flag);
            CHECK(flag == (nth % 3 == 1) && (!flag || found == &value));
            int one = 1, members;
            MPI_Comm_size(made[nth], &members);
            CHECK(class_of(MPI_Send(NULL, 0, MPI_INT, members, 0, made[nth])) == MPI_ERR_RANK);
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made[nth]);
            CHECK(sum == members);
            MPI_Comm_free(&made[nth]);
        }
    }
    CHECK(copies == 20 * MANY / 3);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
