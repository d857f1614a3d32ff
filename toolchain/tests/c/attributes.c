/* Attributes are copied and deleted by the program's functions, which get its own handles. */
#include "check.h"

static int copies, deletes;
static MPI_Comm copied_from, deleted_at;

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void) keyval;
    CHECK(*(int *) extra == 42);
    copies++;
    copied_from = comm;
    *(void **) out = (char *) in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void) keyval, (void) value, (void) extra;
    deletes++;
    deleted_at = comm;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int extra = 42, key, flag, *bound;
    char place[10], *value;
    MPI_Comm first, second;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag);
    CHECK(flag && *bound >= 32767);
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_create_keyval(copy, delete, &key, &extra);
    MPI_Comm_get_attr(first, key, &value, &flag);
    CHECK(!flag);
    MPI_Comm_set_attr(first, key, place);
    MPI_Comm_dup(first, &second);
    MPI_Comm_get_attr(second, key, &value, &flag);
    CHECK(flag && value == place + 1 && copies == 1 && copied_from == first);
    MPI_Comm was = second;
    MPI_Comm_free(&second);
    CHECK(deletes == 1 && deleted_at == was);
    MPI_Comm_delete_attr(first, key);
    CHECK(deletes == 2 && deleted_at == first);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, place);
    MPI_Comm_free_keyval(&key);
    CHECK(key == MPI_KEYVAL_INVALID);
    MPI_Comm_free(&first);
    MPI_Finalize();
    CHECK(deletes == 3 && deleted_at == MPI_COMM_SELF);
    return 0;
}
