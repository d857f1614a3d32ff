/* What a rank starts has no slot, and works; what it forks has a copy of its heap. */
#include "heap.h"
#include <mpi.h>
#include <spawn.h>
#include <sys/wait.h>

static void await(pid_t pid)
{
    int status;
    CHECK(pid > 0);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
}

/* In what was started. */
static int started(void)
{
    CHECK(heap_is_preloaded());
    CHECK(place() == -1);
    for (size_t size = 1; size < 10000000; size *= 3) {
        char *block = malloc(size);
        CHECK(block && place_of(block) == -1);
        block = realloc(block, size * 2);
        CHECK(block && place_of(block) == -1 && malloc_usable_size(block) >= size * 2);
        free(block);
    }
    void *aligned = aligned_alloc(4096, 8192);
    CHECK(aligned && (uintptr_t)aligned % 4096 == 0 && place_of(aligned) == -1);
    free(aligned);
    pid_t pid = fork();
    if (pid == 0)
        _exit(malloc(100) == NULL);
    await(pid);
    return 0;
}

int main(int count, char **words)
{
    char *started_words[] = {words[0], "started", NULL}, line[100], command[5000];
    extern char **environ;
    pid_t pid;
    int rank;

    if (count > 1)
        return started();
    long here = place();
    CHECK(here >= 0);
    char *mark = malloc(100000);
    CHECK(place_of(mark) == here);
    strcpy(mark, "the parent's");
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    pid = fork();
    if (pid == 0) {
        CHECK(!strcmp(mark, "the parent's"));
        strcpy(mark, "the child's");
        char *block = malloc(1 << 20);
        memset(block, 1, 1 << 20);
        free(block);
        free(mark);
        _exit(0);
    }
    await(pid);
    CHECK(!strcmp(mark, "the parent's"));

    pid = fork();
    if (pid == 0) {
        execv(words[0], started_words);
        _exit(9);
    }
    await(pid);
    CHECK(posix_spawn(&pid, words[0], NULL, NULL, started_words, environ) == 0);
    await(pid);
    snprintf(command, sizeof command, "'%s' started", words[0]);
    CHECK(system(command) == 0);
    FILE *pipe = popen("echo $((6 * 7))", "r");
    CHECK(pipe && fgets(line, sizeof line, pipe) && !strcmp(line, "42\n"));
    CHECK(pclose(pipe) == 0);

    /* It is a rank still. */
    int sum, ranks, *one = malloc(sizeof *one);
    *one = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Allreduce(one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == ranks);
    free(one);
    free(mark);
    MPI_Finalize();
    if (rank == 0)
        printf("children are well\n");
    return 0;
}
