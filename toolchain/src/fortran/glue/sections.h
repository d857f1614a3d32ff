/* Buffers of mpi_f08, which come as descriptors of Fortran 2018 (18.5.3).
 *
 * The layout is that of GCC and of LLVM. The wrapper tries it with each compiler before it makes
 * the module (probe.f90), so no header of the compiler is needed.
 */
#ifndef BCS_FORTRAN_SECTIONS_H
#define BCS_FORTRAN_SECTIONS_H

#include "glue.h"

struct dimension {
    ptrdiff_t lower_bound;
    ptrdiff_t extent;
    ptrdiff_t stride; /* in bytes */
};

struct descriptor {
    char *base;
    size_t element;
    int version;
    signed char rank;
    signed char others[3];
    struct dimension dimensions[];
};

/* What may be done with a section that is not contiguous. */
enum {
    ONE_BLOCK = 1, /* all of it is one block, and a datatype may describe it */
    BLOCKS = 2,    /* it holds several blocks, so only a datatype with another extent can */
    COPY = 4,      /* the call returns when it is done, so a copy may take its place */
    WRITTEN = 8,   /* the copy is copied back */
};

/* A buffer as C gets it. One that was never opened is all zeros. */
struct block {
    void *base;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Datatype made;
    const struct descriptor *copied;
    ptrdiff_t elements; /* how many were copied, from the first on */
    struct each *each;
};

/* The blocks of an all-to-all in which each has a count, a place and a datatype. */
struct each {
    int number;
    size_t count_size, place_size; /* of an element of the arrays */
    const void *counts, *places;
    MPI_Datatype *types, *made;
};

static inline int is_contiguous(const struct descriptor *of)
{
    ptrdiff_t expected = (ptrdiff_t)of->element;
    for (int nth = 0; nth < of->rank; nth++) {
        const struct dimension *dimension = &of->dimensions[nth];
        if (dimension->extent != 1 && dimension->stride != expected)
            return nth > 0 && dimension->extent == -1;
        expected *= dimension->extent;
    }
    return 1;
}

/* Opens a section that is not contiguous. */
int bcs_fortran_open(struct block *block, const struct descriptor *of, int how);
void bcs_fortran_close(struct block *block, int how);

/* Makes a buffer of C of a section. */
static inline int open_block(struct block *block, const struct descriptor *of, MPI_Count count, MPI_Datatype type, int how)
{
    block->base = address_of(of->base);
    block->count = count;
    block->type = type;
    block->made = NULL;
    block->copied = NULL;
    if (RARELY(!is_contiguous(of)) && block->base == of->base)
        return bcs_fortran_open(block, of, how);
    return MPI_SUCCESS;
}

static inline void close_block(struct block *block, int how)
{
    if (RARELY(block->made || block->copied || block->each))
        bcs_fortran_close(block, how);
}

/* Does the same with blocks of which each has a datatype. If the section is not contiguous, each
 * becomes one element of a datatype of its own, and the arrays are replaced. */
int bcs_fortran_open_each(struct block *block, const struct descriptor *of, struct each *each, int how);

static inline int open_each(struct block *block, const struct descriptor *of, struct each *each, int how)
{
    block->base = address_of(of->base);
    if (RARELY(!is_contiguous(of)) && block->base == of->base)
        return bcs_fortran_open_each(block, of, each, how);
    return MPI_SUCCESS;
}

/* The two buffers of a reduction, which have one count and one datatype in C. */
struct operands {
    struct block contribution, result;
    MPI_Count count;
    MPI_Datatype type;
};

/* Opens the buffers of a reduction if one of them is a section that is not contiguous. */
int bcs_fortran_open_operands(struct operands *both, const struct descriptor *contribution, const struct descriptor *result, MPI_Op op, int how);
void bcs_fortran_close_operands(struct operands *both);

/* Makes buffers of C of the operands of a reduction. */
static inline int open_operands(struct operands *both, const struct descriptor *contribution, const struct descriptor *result, MPI_Count count, MPI_Datatype type, MPI_Op op, int how)
{
    both->contribution.base = address_of(contribution->base);
    both->result.base = address_of(result->base);
    both->count = count;
    both->type = type;
    if (RARELY(!is_contiguous(contribution) || !is_contiguous(result)))
        return bcs_fortran_open_operands(both, contribution, result, op, how);
    return MPI_SUCCESS;
}

static inline void close_operands(struct operands *both)
{
    if (RARELY(both->contribution.made || both->contribution.copied || both->result.made || both->result.copied))
        bcs_fortran_close_operands(both);
}

/* Whether a buffer is MPI_IN_PLACE, in either of its forms. */
static inline int is_place(void *place)
{
    return address_of(place) == MPI_IN_PLACE;
}

static inline int is_place_of(struct descriptor *of)
{
    return address_of(of->base) == MPI_IN_PLACE;
}

#define is_in_place(of) _Generic((of), struct descriptor *: is_place_of, default: is_place)(of)

#endif
