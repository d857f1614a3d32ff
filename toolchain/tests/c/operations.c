/* Operations of the program's, which get the datatype that the program named. */
#include "check.h"

static MPI_Datatype expected;

/* Not commutative: 2x2 matrices. */
static void multiply(void *invec, void *inoutvec, int *len, MPI_Datatype *datatype)
{
    double *a = invec, *b = inoutvec;
    CHECK(*datatype == expected);
    for (int i = 0; i + 3 < *len; i += 4, a += 4, b += 4) {
        double c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                       a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
        memcpy(b, c, sizeof c);
    }
}

static void add(void *invec, void *inoutvec, MPI_Count *len, MPI_Datatype *datatype)
{
    CHECK(*datatype == MPI_INT32_T);
    for (MPI_Count i = 0; i < *len; i++)
        ((int *) inoutvec)[i] += ((int *) invec)[i];
}

int main(int argc, char **argv)
{
    int rank, size, commutes;
    MPI_Op product, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    MPI_Op_create(multiply, 0, &product);
    MPI_Op_commutative(product, &commutes);
    CHECK(!commutes);
    expected = MPI_DOUBLE;
    /* The product of (1 r; 0 1) for all r is (1 sum of r; 0 1), in every order; that of (r 1; 0 1) is not. */
    double mine[4] = {1, rank, 0, 1}, all[4];
    MPI_Allreduce(mine, all, 4, MPI_DOUBLE, product, MPI_COMM_WORLD);
    CHECK(all[0] == 1 && all[1] == size * (size - 1) / 2 && all[3] == 1);
    double ordered[4] = {1, 0, 0, 1};
    for (int i = 0; i < size; i++) {
        double next[4] = {i + 1, 1, 0, 1};
        double left[4];
        memcpy(left, ordered, sizeof left);
        memcpy(ordered, next, sizeof next);
        int four = 4;
        MPI_Datatype of = MPI_DOUBLE;
        multiply(left, ordered, &four, &of);
    }
    double own[4] = {rank + 1, 1, 0, 1};
    MPI_Allreduce(own, all, 4, MPI_DOUBLE, product, MPI_COMM_WORLD);
    CHECK(memcmp(all, ordered, sizeof all) == 0);

    MPI_Op_create_c(add, 1, &sum);
    int total = -1;
    MPI_Allreduce(&rank, &total, 1, MPI_INT32_T, sum, MPI_COMM_WORLD);
    CHECK(total == size * (size - 1) / 2);
    int here = 5;
    MPI_Reduce_local(&total, &here, 1, MPI_INT32_T, sum);
    CHECK(here == total + 5);

    MPI_Op_free(&product);
    MPI_Op_free(&sum);
    CHECK(product == MPI_OP_NULL);
    MPI_Finalize();
    return 0;
}
