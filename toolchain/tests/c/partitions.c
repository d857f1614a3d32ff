/* Messages in parts: cut in different ways, ready in any order, also of data that do not lie side by side. */
#include "check.h"

static void check_round(int send_parts, int receive_parts, int total, int stride, int rank, int size)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, flag, count;
    int *out = calloc((size_t)total * stride, sizeof *out), *in = calloc((size_t)total * stride, sizeof *in);
    MPI_Datatype spread;
    MPI_Request requests[2];
    MPI_Status statuses[2];

    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)(stride * sizeof(int)), &spread);
    MPI_Type_commit(&spread);
    MPI_Psend_init(out, send_parts, total / send_parts, spread, to, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, receive_parts, total / receive_parts, spread, from, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int round = 0; round < 4; round++) {
        for (int nth = 0; nth < total; nth++)
            out[nth * stride] = 1000 * rank + nth + round, in[nth * stride] = -1;
        MPI_Startall(2, requests);
        /* The last first, then some at once. */
        MPI_Pready(send_parts - 1, requests[0]);
        if (send_parts > 2)
            MPI_Pready_list(1, (int[]){1}, requests[0]);
        if (send_parts > 1)
            MPI_Pready(0, requests[0]);
        if (send_parts > 3)
            MPI_Pready_range(2, send_parts - 2, requests[0]);
        for (int part = receive_parts - 1; part >= 0; part--) {
            do
                MPI_Parrived(requests[1], part, &flag);
            while (!flag);
            for (int nth = part * (total / receive_parts); nth < (part + 1) * (total / receive_parts); nth++)
                CHECK(in[nth * stride] == 1000 * from + nth + round);
        }
        MPI_Waitall(2, requests, statuses);
        CHECK(statuses[1].MPI_SOURCE == from && statuses[1].MPI_TAG == 3);
        MPI_Get_count(&statuses[1], MPI_INT, &count);
        CHECK(count == total);
        for (int nth = 0; nth < total * stride; nth++)
            CHECK(in[nth] == (nth % stride ? 0 : 1000 * from + nth / stride + round));
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Type_free(&spread);
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    int rank, size, flag;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    static const int cuts[][3] = {{1, 1, 8}, {4, 4, 64}, {1, 8, 64}, {8, 1, 64}, {3, 7, 42}, {64, 16, 65536}};
    for (size_t nth = 0; nth < sizeof cuts / sizeof *cuts; nth++) {
        check_round(cuts[nth][0], cuts[nth][1], cuts[nth][2], 1, rank, size);
        check_round(cuts[nth][0], cuts[nth][1], cuts[nth][2], 3, rank, size);
    }

    /* The sender's parts end within the receiver's elements, which do not lie side by side. */
    double pairs[12] = {0};
    float words[12];
    MPI_Datatype spread;
    MPI_Request requests[2];
    for (int nth = 0; nth < 12; nth++)
        words[nth] = (float)(rank + nth);
    MPI_Type_create_resized(MPI_DOUBLE, 0, 2 * sizeof(double), &spread);
    MPI_Type_commit(&spread);
    MPI_Psend_init(words, 4, 3, MPI_FLOAT, (rank + 1) % size, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(pairs, 2, 3, spread, (rank + size - 1) % size, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Pready_range(0, 3, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int nth = 0; nth < 12; nth++) {
        float got;
        memcpy(&got, (char *)&pairs[nth / 2 * 2] + nth % 2 * sizeof got, sizeof got);
        CHECK(got == (float)((rank + size - 1) % size + nth));
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Type_free(&spread);

    /* To nobody, and with errors. */
    MPI_Psend_init(words, 2, 1, MPI_FLOAT, MPI_PROC_NULL, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(words, 2, 1, MPI_FLOAT, MPI_PROC_NULL, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Pready(1, requests[0]);
    MPI_Parrived(requests[1], 1, &flag);
    CHECK(flag);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Pready(2, requests[0]), class;
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_ARG);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Finalize();
    return 0;
}
