/* What the tests say when something is not so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <mpi.h>

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

/* The class of an error: its code names one that has happened. */
static inline int class_of(int code)
{
    int class = code;
    CHECK(MPI_Error_class(code, &class) == MPI_SUCCESS);
    return class;
}
