/* What a program keeps with a window, shared memory, and errors. */
#include "check.h"

static int rank, ranks, deleted, told, class_told;

static int delete_attribute(MPI_Win win, int key, void *value, void *extra)
{
    (void)win;
    (void)key;
    CHECK(value == &rank && extra == &ranks);
    deleted++;
    return MPI_SUCCESS;
}

static void of_window(MPI_Win *win, int *code, ...)
{
    CHECK(*win != MPI_WIN_NULL);
    told++;
    class_told = class_of(*code);
}

static void attributes_and_names(void)
{
    int *base, key, flag, length, *number;
    void *found;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Aint *size;
    MPI_Win win;
    MPI_Group group, world;
    MPI_Win_allocate(12, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_get_attr(win, MPI_WIN_BASE, &found, &flag);
    CHECK(flag && found == base);
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &flag);
    CHECK(flag && *size == 12);
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &number, &flag);
    CHECK(flag && *number == 4);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &number, &flag);
    CHECK(flag && *number == MPI_WIN_FLAVOR_ALLOCATE);
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &number, &flag);
    CHECK(flag && *number == MPI_WIN_UNIFIED);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_attribute, &key, &ranks);
    MPI_Win_get_attr(win, key, &found, &flag);
    CHECK(!flag);
    MPI_Win_set_attr(win, key, &rank);
    MPI_Win_get_attr(win, key, &found, &flag);
    CHECK(flag && found == &rank);
    MPI_Win_set_attr(win, key, &rank);
    CHECK(deleted == 1);
    MPI_Win_delete_attr(win, key);
    CHECK(deleted == 2);
    MPI_Win_set_attr(win, key, &rank);
    MPI_Win_free_keyval(&key);
    CHECK(key == MPI_KEYVAL_INVALID);

    MPI_Win_get_name(win, name, &length);
    CHECK(length == 0);
    MPI_Win_set_name(win, "numbers");
    MPI_Win_get_name(win, name, &length);
    CHECK(length == 7 && strcmp(name, "numbers") == 0);
    MPI_Win_get_group(win, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &flag);
    CHECK(flag == MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    CHECK(MPI_Win_fromint(MPI_Win_toint(win)) == win);

    MPI_Info info;
    char value[64];
    int room = sizeof value;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Win_set_info(win, info);
    MPI_Info_free(&info);
    MPI_Win_get_info(win, &info);
    MPI_Info_get_string(info, "no_locks", &room, value, &flag);
    CHECK(flag && strcmp(value, "true") == 0);
    room = sizeof value;
    MPI_Info_get_string(info, "accumulate_ordering", &room, value, &flag);
    CHECK(flag && strcmp(value, "rar,raw,war,waw") == 0);
    MPI_Info_free(&info);
    MPI_Win_free(&win);
    CHECK(deleted == 3);
}

static void memory_of_all(void)
{
    MPI_Comm node;
    MPI_Win win;
    long *mine, *other;
    MPI_Aint size;
    int unit, on_node, members;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &on_node);
    MPI_Comm_size(node, &members);
    for (int apart = 0; apart < 2; apart++) {
        MPI_Info info;
        MPI_Info_create(&info);
        if (apart) MPI_Info_set(info, "alloc_shared_noncontig", "true");
        MPI_Win_allocate_shared(2 * sizeof *mine, sizeof *mine, info, node, &mine, &win);
        MPI_Info_free(&info);
        MPI_Win_lock_all(0, win);
        mine[1] = 100 + on_node;
        MPI_Win_sync(win);
        MPI_Barrier(node);
        MPI_Win_sync(win);
        long *before = NULL;
        for (int member = 0; member < members; member++) {
            MPI_Win_shared_query(win, member, &size, &unit, &other);
            CHECK(size == 2 * sizeof *mine && unit == sizeof *mine && other[1] == 100 + member);
            CHECK(apart || before == NULL || other == before + 2);
            before = other;
        }
        MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &other);
        CHECK(other[1] == 100);
        long one = 1, old;
        MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, win);
        MPI_Win_unlock_all(win);
        MPI_Barrier(node);
        CHECK(other[0] == members);
        MPI_Win_free(&win);
    }
    MPI_Comm_free(&node);
}

static void errors(void)
{
    int base[4] = {0}, word = 0, got;
    MPI_Win win, dynamic;
    MPI_Errhandler handler, found;
    MPI_Win_create(base, sizeof base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_get_errhandler(win, &found);
    CHECK(found == MPI_ERRORS_ARE_FATAL);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Put(&word, 1, MPI_INT, 0, 0, 1, MPI_INT, win)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_unlock(0, win)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_flush(0, win)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_complete(win)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_wait(win)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_lock(77, 0, 0, win)) == MPI_ERR_LOCKTYPE);
    CHECK(class_of(MPI_Win_lock(MPI_LOCK_SHARED, ranks, 0, win)) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Win_fence(1, win)) == MPI_ERR_ASSERT);
    CHECK(class_of(MPI_Win_attach(win, base, 4)) == MPI_ERR_RMA_FLAVOR);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    CHECK(class_of(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_lock_all(0, win)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_free(&win)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Put(&word, 1, MPI_INT, rank, 4, 1, MPI_INT, win)) == MPI_ERR_RMA_RANGE);
    CHECK(class_of(MPI_Put(&word, 1, MPI_INT, rank, -1, 1, MPI_INT, win)) == MPI_ERR_DISP);
    CHECK(class_of(MPI_Put(&word, 1, MPI_INT, ranks, 0, 1, MPI_INT, win)) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Get(&word, 1, MPI_INT, rank, 0, 2, MPI_INT, win)) == MPI_ERR_TRUNCATE);
    double number = 1;
    CHECK(class_of(MPI_Accumulate(&number, 1, MPI_DOUBLE, rank, 0, 1, MPI_DOUBLE, MPI_BAND, win)) == MPI_ERR_OP);
    CHECK(class_of(MPI_Compare_and_swap(&number, &number, &number, MPI_DOUBLE, rank, 0, win)) == MPI_ERR_TYPE);
    CHECK(MPI_Put(&word, 1, MPI_INT, MPI_PROC_NULL, 99, 1, MPI_INT, win) == MPI_SUCCESS);
    MPI_Win_unlock(rank, win);

    MPI_Win_create_errhandler(of_window, &handler);
    MPI_Win_set_errhandler(win, handler);
    MPI_Errhandler_free(&handler);
    got = MPI_Win_unlock(0, win);
    CHECK(told == 1 && class_told == MPI_ERR_RMA_SYNC && class_of(got) == MPI_ERR_RMA_SYNC);
    MPI_Win_call_errhandler(win, MPI_ERR_OTHER);
    CHECK(told == 2 && class_told == MPI_ERR_OTHER);
    MPI_Win_free(&win);

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
    MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN);
    MPI_Win_attach(dynamic, base, sizeof base);
    CHECK(class_of(MPI_Win_attach(dynamic, base + 1, 4)) == MPI_ERR_RMA_ATTACH);
    CHECK(class_of(MPI_Win_detach(dynamic, base + 1)) == MPI_ERR_RMA_ATTACH);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, dynamic);
    MPI_Aint where;
    MPI_Get_address(&word, &where);
    CHECK(class_of(MPI_Put(base, 1, MPI_INT, rank, where, 1, MPI_INT, dynamic)) == MPI_ERR_RMA_RANGE);
    MPI_Get_address(&base[2], &where);
    word = 5;
    CHECK(MPI_Put(&word, 1, MPI_INT, rank, where, 1, MPI_INT, dynamic) == MPI_SUCCESS);
    MPI_Win_unlock(rank, dynamic);
    CHECK(base[2] == 5);
    MPI_Win_detach(dynamic, base);
    MPI_Win_free(&dynamic);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Win_fence(0, MPI_WIN_NULL)) == MPI_ERR_WIN);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    attributes_and_names();
    memory_of_all();
    errors();
    MPI_Finalize();
    return 0;
}
