/* Windows: epochs of all kinds, and operations with plain and derived datatypes. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

static int rank, ranks;

static void put_and_get_between_fences(void) {
    long *base;
    MPI_Win win;
    CHECK(MPI_Win_allocate(4 * sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win) == MPI_SUCCESS);
    memset(base, 0, 4 * sizeof *base);
    int right = (rank + 1) % ranks;
    long sent = 100 + rank, got = -1;
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Put(&sent, 1, MPI_LONG, right, 2, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    CHECK(base[2] == 100 + (rank + ranks - 1) % ranks);
    MPI_Get(&got, 1, MPI_LONG, right, 2, 1, MPI_LONG, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(got == 100 + rank);
    MPI_Win_free(&win);
    CHECK(win == MPI_WIN_NULL);
}

static void a_counter_under_locks(void) {
    long *base, old, one = 1;
    MPI_Win win;
    long bytes = rank == 0 ? 2 * sizeof *base : 0;
    MPI_Win_allocate(bytes, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        base[0] = base[1] = 0;
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 100; i++) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, win);
        MPI_Win_unlock(0, win);
        CHECK(old >= i && old < 100L * ranks);
        /* An exclusive lock makes a read and a write one step. */
        long value;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&value, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win);
        MPI_Win_flush(0, win);
        value += 3;
        MPI_Put(&value, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        CHECK(base[0] == 100L * ranks);
        CHECK(base[1] == 300L * ranks);
        MPI_Win_unlock(0, win);
    }
    MPI_Win_free(&win);
}

static void a_counter_in_an_epoch_of_all_locks(void) {
    long base[2] = {0, 0}, one = 1, old, zero = 0;
    MPI_Win win;
    MPI_Win_create(base, sizeof base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    for (int target = 0; target < ranks; target++) {
        for (int i = 0; i < 50; i++)
            MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win);
        MPI_Win_flush(target, win);
        long compare = 0, mine = rank + 1;
        MPI_Compare_and_swap(&mine, &compare, &old, MPI_LONG, target, 1, win);
        MPI_Win_flush(target, win);
        CHECK(old >= 0 && old <= ranks);
        MPI_Get_accumulate(NULL, 0, MPI_LONG, &old, 1, MPI_LONG, target, 1, 1, MPI_LONG, MPI_NO_OP, win);
        MPI_Win_flush(target, win);
        CHECK(old >= 1 && old <= ranks);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    MPI_Fetch_and_op(&zero, &old, MPI_LONG, rank, 0, MPI_NO_OP, win);
    MPI_Win_unlock(rank, win);
    CHECK(old == 50L * ranks);
    MPI_Win_free(&win);
}

static void epochs_with_groups(void) {
    int base[8] = {0};
    MPI_Win win;
    MPI_Group world, peers;
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    MPI_Win_create(base, sizeof base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int round = 1; round < 5; round++) {
        MPI_Group_incl(world, 1, &left, &peers);
        MPI_Win_post(peers, 0, win);
        MPI_Group_free(&peers);
        MPI_Group_incl(world, 1, &right, &peers);
        MPI_Win_start(peers, 0, win);
        MPI_Group_free(&peers);
        int sent = 10 * rank + round;
        MPI_Put(&sent, 1, MPI_INT, right, round, 1, MPI_INT, win);
        MPI_Win_complete(win);
        if (round % 2) {
            MPI_Win_wait(win);
        } else {
            int flag = 0;
            while (!flag) MPI_Win_test(win, &flag);
        }
        CHECK(base[round] == 10 * left + round);
    }
    MPI_Group_free(&world);
    MPI_Win_free(&win);
}

static void datatypes_on_both_sides(void) {
    int base[32], data[32];
    MPI_Win win;
    MPI_Datatype every_second, every_third;
    for (int i = 0; i < 32; i++) {
        base[i] = -1;
        data[i] = 1000 * rank + i;
    }
    MPI_Type_vector(6, 1, 2, MPI_INT, &every_second);
    MPI_Type_vector(6, 1, 3, MPI_INT, &every_third);
    MPI_Type_commit(&every_second);
    MPI_Type_commit(&every_third);
    MPI_Win_create(base, sizeof base, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    MPI_Win_fence(0, win);
    MPI_Put(data, 1, every_second, right, 4, 1, every_third, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 18; i++)
        CHECK(base[1 + i] == (i % 3 || i > 15 ? -1 : 1000 * left + i / 3 * 2));
    int got[12];
    memset(got, -1, sizeof got);
    MPI_Get(got, 1, every_second, right, 4, 1, every_third, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 11; i++) CHECK(got[i] == (i % 2 ? -1 : 1000 * rank + i));
    MPI_Accumulate(data, 6, MPI_INT, right, 4, 1, every_third, MPI_SUM, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 6; i++) CHECK(base[1 + 3 * i] == 1000 * left + 2 * i + 1000 * left + i);
    struct {
        double value;
        int place;
    } pair = {1.5 + rank, rank}, *pairs;
    MPI_Win other;
    MPI_Win_allocate(sizeof *pairs, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &pairs, &other);
    pairs->value = 0;
    pairs->place = -1;
    MPI_Win_fence(0, other);
    MPI_Accumulate(&pair, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, MPI_MAXLOC, other);
    MPI_Win_fence(0, other);
    if (rank == 0) CHECK(pairs->value == 0.5 + ranks && pairs->place == ranks - 1);
    MPI_Win_free(&other);
    MPI_Win_free(&win);
    MPI_Type_free(&every_second);
    MPI_Type_free(&every_third);
}

static void attached_memory(void) {
    MPI_Win win;
    MPI_Aint *all = malloc(ranks * sizeof *all), mine;
    int *memory = malloc(10 * sizeof *memory), value = 7 + rank;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, memory, 10 * sizeof *memory);
    MPI_Get_address(&memory[3], &mine);
    MPI_Allgather(&mine, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
    int right = (rank + 1) % ranks;
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
    MPI_Put(&value, 1, MPI_INT, right, all[right], 1, MPI_INT, win);
    MPI_Win_unlock(right, win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(memory[3] == 7 + (rank + ranks - 1) % ranks);
    MPI_Win_detach(win, memory);
    MPI_Win_free(&win);
    free(memory);
    free(all);
}

static void requests(void) {
    double base[4] = {0, 0, 0, 0}, sent[2] = {1.5, 2.5}, got = 0, old[2];
    MPI_Win win;
    MPI_Request all[2];
    MPI_Win_create(base, sizeof base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    int right = (rank + 1) % ranks;
    MPI_Win_lock_all(0, win);
    MPI_Rput(&sent[0], 1, MPI_DOUBLE, right, 0, 1, MPI_DOUBLE, win, &all[0]);
    MPI_Raccumulate(&sent[1], 1, MPI_DOUBLE, right, 1, 1, MPI_DOUBLE, MPI_SUM, win, &all[1]);
    MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
    MPI_Win_flush_all(win);
    MPI_Rget(&got, 1, MPI_DOUBLE, right, 0, 1, MPI_DOUBLE, win, &all[0]);
    MPI_Rget_accumulate(sent, 2, MPI_DOUBLE, old, 2, MPI_DOUBLE, right, 2, 2, MPI_DOUBLE, MPI_REPLACE, win, &all[1]);
    MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
    CHECK(got == 1.5 && old[0] == 0 && old[1] == 0);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(base[1] == 2.5 && base[2] == 1.5 && base[3] == 2.5);
    MPI_Win_free(&win);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    put_and_get_between_fences();
    a_counter_under_locks();
    a_counter_in_an_epoch_of_all_locks();
    epochs_with_groups();
    datatypes_on_both_sides();
    attached_memory();
    requests();
    MPI_Finalize();
    return 0;
}
