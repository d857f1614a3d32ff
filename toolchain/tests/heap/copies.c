/* Children that are made without the handlers of forks have a copy of the heap, as those of `fork` have; and what is
 * mapped over the heap, protected or kept from children is in a child as it would be for private memory. */
#include "heap.h"
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { PAGE = 4096, BYTES = 1 << 20 };

static const int access_all = PROT_READ | PROT_WRITE;
/* A part of it each: the slot's, another mapping, protected, not inherited, and emptied. */
static char *block;
enum { OURS, SHARED, PRIVATE, GUARDED, NOT_THERE, EMPTY, PARTS, PART = BYTES / 8 };

static char *part(int nth)
{
    return block + nth * PART;
}

static int is_there(const char *at)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    int there = write(ends[1], at, 1) == 1;
    CHECK(there || errno == EFAULT);
    close(ends[0]);
    close(ends[1]);
    return there;
}

/* In the child: it finds what it should, and changes all that it can. */
static int child(void *what)
{
    const char *mark = what;
    CHECK(!strcmp(mark, "the parent's"));
    CHECK(*part(OURS) == 'o' && *part(SHARED) == 's' && *part(PRIVATE) == 'p');
    CHECK(!is_there(part(GUARDED)));
    CHECK(!is_there(part(NOT_THERE)));
    CHECK(*part(EMPTY) == 0);
    CHECK(mprotect(part(GUARDED), PART, access_all) == 0 && *part(GUARDED) == 'g');
    for (int nth = 0; nth < PARTS; nth++)
        if (nth != NOT_THERE)
            memset(part(nth), 'c', PART);
    char *own = malloc(3 * BYTES);
    memset(own, 'c', 3 * BYTES);
    free(own);
    strcpy(what, "the child's");
    return 0;
}

/* In the parent, when the child is gone: what it changed was its own, but for what they share. */
static void after(pid_t pid, const char *mark)
{
    int status;
    CHECK(pid > 0);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
    CHECK(!strcmp(mark, "the parent's"));
    CHECK(*part(OURS) == 'o' && *part(PRIVATE) == 'p' && *part(NOT_THERE) == 'n');
    CHECK(*part(EMPTY) == 'e' && !is_there(part(GUARDED)));
    CHECK(*part(SHARED) == 'c');
    memset(part(SHARED), 's', PART);
}

static volatile pid_t made_in_handler;
static char *handlers_mark;

static void makes_a_child(int signal)
{
    (void)signal;
    made_in_handler = _Fork();
    if (made_in_handler == 0)
        _exit(strcmp(handlers_mark, "the parent's") != 0);
}

int main(void)
{
    int rank;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *mark = malloc(100);
    CHECK(place_of(mark) == place() || getenv("BCS_SLOT"));
    strcpy(mark, "the parent's");
    block = aligned_alloc(PAGE, BYTES);
    const char values[] = "ospgne";
    int fixed = MAP_FIXED | MAP_ANONYMOUS;
    for (int nth = 0; nth < PARTS; nth++) {
        if (nth == SHARED)
            CHECK(mmap(part(nth), PART, access_all, fixed | MAP_SHARED, -1, 0) == part(nth));
        if (nth == PRIVATE) {
            /* A mapping of another kind, which the heap does not take for its own. */
            int flags = fixed | MAP_PRIVATE | MAP_LOCKED;
            if (mmap(part(nth), PART, access_all, flags, -1, 0) == MAP_FAILED)
                CHECK(mmap(part(nth), PART, access_all, fixed | MAP_PRIVATE, -1, 0) == part(nth));
        }
        memset(part(nth), values[nth], PART);
    }
    CHECK(mprotect(part(GUARDED), PART, PROT_NONE) == 0);
    CHECK(madvise(part(NOT_THERE), PART, MADV_DONTFORK) == 0);
    CHECK(madvise(part(EMPTY), PART, MADV_WIPEONFORK) == 0);

    pid_t pid = fork();
    if (pid == 0)
        _exit(child(mark));
    after(pid, mark);
    pid = _Fork();
    if (pid == 0)
        _exit(child(mark));
    after(pid, mark);
    pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(child(mark));
    after(pid, mark);
    pid = syscall(SYS_fork);
    if (pid == 0)
        _exit(child(mark));
    after(pid, mark);
    unsigned long words[8] = {0, 0, 0, 0, SIGCHLD};
    pid = syscall(SYS_clone3, words, sizeof words);
    if (pid == 0)
        _exit(child(mark));
    after(pid, mark);
    CHECK(syscall(SYS_clone3, NULL, 0L) == -1);

    /* With a stack of its own, in the heap and beside it. */
    char *stack = malloc(4 * BYTES);
    after(clone(child, stack + 4 * BYTES, SIGCHLD, mark), mark);
    free(stack);
    stack = mmap(NULL, BYTES, access_all, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    after(clone(child, stack + BYTES, SIGCHLD, mark), mark);
    /* One that shares memory does so. */
    static char shared[] = "the parent's";
    volatile char *there = shared;
    pid = vfork();
    if (pid == 0)
        _exit(there[0] = 0);
    CHECK(waitpid(pid, NULL, 0) == pid && there[0] == 0);

    handlers_mark = mark;
    signal(SIGUSR1, makes_a_child);
    CHECK(raise(SIGUSR1) == 0 && made_in_handler > 0);
    int status;
    CHECK(waitpid(made_in_handler, &status, 0) == made_in_handler && status == 0);

    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        puts("children are well");
    MPI_Finalize();
    return 0;
}
