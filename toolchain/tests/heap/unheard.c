/* A buffer of the heap over which the program maps something else by a system call of its own, which the heap cannot
 * hear of. The word says what it is then used for: send, receive, bcast. */
#include "heap.h"
#include <mpi.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { PAGE = 4096, BYTES = 1 << 20 };

static long map_there(char *at)
{
    long answer = SYS_mmap;
    register long flags __asm__("r10") = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS;
    register long file __asm__("r8") = -1;
    register long offset __asm__("r9") = 0;
    __asm__ volatile("syscall"
                     : "+a"(answer)
                     : "D"(at), "S"((long)PAGE), "d"((long)(PROT_READ | PROT_WRITE)), "r"(flags),
                       "r"(file), "r"(offset)
                     : "rcx", "r11", "memory");
    return answer;
}

int main(int count, char **words)
{
    int rank;
    MPI_Init(&count, &words);
    CHECK(count == 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *block = aligned_alloc(PAGE, BYTES);
    memset(block, 'b', BYTES);
    if (rank == 0)
        CHECK(map_there(block + BYTES / 2) == (long)(block + BYTES / 2));
    if (!strcmp(words[1], "bcast"))
        MPI_Bcast(block, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
    else if (rank == (strcmp(words[1], "receive") ? 0 : 1))
        MPI_Send(block, BYTES, MPI_BYTE, !rank, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(block, BYTES, MPI_BYTE, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
