/* Sections of arrays that are not contiguous (19.1.12): strided, reversed, or with gaps.
 *
 * A call sees the elements of a section one after another. Where a datatype can say so, one is
 * made: then nothing is copied, and the call may go on after it has returned. Where none can (a
 * reduction is only defined on predefined types), a call that returns when it is done gets a copy,
 * and all others fail. A short section that is only read is copied, too.
 */
#include "sections.h"

static ptrdiff_t elements(const struct descriptor *of)
{
    ptrdiff_t count = 1;
    for (int nth = 0; nth < of->rank; nth++)
        count *= of->dimensions[nth].extent;
    return count;
}

/* Makes the type of the first `count` elements of the first `rank` dimensions. */
static int section_type(const struct descriptor *of, int rank, ptrdiff_t count, MPI_Datatype element, MPI_Datatype *made)
{
    if (rank == 0 || count == 0)
        return PMPI_Type_contiguous_c(count, element, made);
    ptrdiff_t slab = 1;
    for (int nth = 0; nth < rank - 1; nth++)
        slab *= of->dimensions[nth].extent;
    ptrdiff_t full = count / slab, rest = count % slab, stride = of->dimensions[rank - 1].stride;
    MPI_Datatype of_slab, of_rest, pieces;
    int code = section_type(of, rank - 1, slab, element, &of_slab);
    if (code != MPI_SUCCESS)
        return code;
    code = PMPI_Type_create_hvector_c(full, 1, stride, of_slab, &pieces);
    PMPI_Type_free(&of_slab);
    if (code != MPI_SUCCESS || rest == 0) {
        *made = pieces;
        return code;
    }
    code = section_type(of, rank - 1, rest, element, &of_rest);
    if (code == MPI_SUCCESS) {
        MPI_Count lengths[] = {1, 1}, places[] = {0, full * stride};
        MPI_Datatype types[] = {pieces, of_rest};
        code = PMPI_Type_create_struct_c(2, lengths, places, types, made);
        PMPI_Type_free(&of_rest);
    }
    PMPI_Type_free(&pieces);
    return code;
}

/* Describes the section as one element of a new type. Returns whether that is possible. */
static int describe_whole(struct block *block, const struct descriptor *of)
{
    MPI_Count lower, extent, size, here = (MPI_Count)of->element;
    if (block->count < 0 || PMPI_Type_get_extent_c(block->type, &lower, &extent) != MPI_SUCCESS
        || PMPI_Type_size_c(block->type, &size) != MPI_SUCCESS)
        return 0;
    /* Data of a type with gaps would lie across elements. */
    if (lower != 0 || extent != size || extent <= 0 || here % extent != 0)
        return 0;
    MPI_Count each = here / extent;
    if (block->count % each != 0 || block->count / each > elements(of))
        return 0;
    MPI_Datatype element, made;
    if (PMPI_Type_contiguous_c(each, block->type, &element) != MPI_SUCCESS)
        return 0;
    int code = section_type(of, of->rank, block->count / each, element, &made);
    PMPI_Type_free(&element);
    if (code != MPI_SUCCESS || PMPI_Type_commit(&made) != MPI_SUCCESS)
        return 0;
    block->made = block->type = made;
    block->count = 1;
    return 1;
}

/* Describes each element by a type whose extent is the distance to the next. */
static int describe_elements(struct block *block, const struct descriptor *of)
{
    MPI_Count lower, extent, size;
    if (of->rank < 1 || PMPI_Type_get_extent_c(block->type, &lower, &extent) != MPI_SUCCESS
        || PMPI_Type_size_c(block->type, &size) != MPI_SUCCESS)
        return 0;
    ptrdiff_t stride = 0, next = 0;
    for (int nth = 0; nth < of->rank; nth++) {
        const struct dimension *dimension = &of->dimensions[nth];
        if (dimension->extent == 1)
            continue;
        if (stride == 0)
            stride = next = dimension->stride;
        if (dimension->stride != next)
            return 0;
        next *= dimension->extent;
    }
    if (stride <= 0 || lower != 0 || extent != size || extent != (MPI_Count)of->element)
        return 0;
    MPI_Datatype made;
    if (PMPI_Type_create_resized_c(block->type, 0, stride, &made) != MPI_SUCCESS)
        return 0;
    if (PMPI_Type_commit(&made) != MPI_SUCCESS)
        return 0;
    block->made = block->type = made;
    return 1;
}

/* A section of fewer bytes that is only read is copied by a call that blocks: that takes less time
 * than making a type (1.5 microseconds). */
#define SHORT 4096

/* Finds how many elements hold the data of one block. Returns whether the section has as many. */
static int count_elements(struct block *block, const struct descriptor *of)
{
    MPI_Count lower, extent, first, span;
    block->elements = elements(of);
    if (block->count <= 0 || PMPI_Type_get_extent_c(block->type, &lower, &extent) != MPI_SUCCESS
        || PMPI_Type_get_true_extent_c(block->type, &first, &span) != MPI_SUCCESS)
        return 1;
    MPI_Count here = (MPI_Count)of->element, last = first + span + (block->count - 1) * extent;
    if (first < 0 || extent < 0 || last > here * block->elements)
        return 0;
    block->elements = (last + here - 1) / here;
    return 1;
}

/* Copies between the first elements of the section and a contiguous array. */
static void copy(const struct descriptor *of, char *contiguous, ptrdiff_t count, int is_back)
{
    ptrdiff_t index[of->rank + 1];
    memset(index, 0, sizeof(index));
    for (; count > 0; count--, contiguous += of->element) {
        char *element = of->base;
        for (int nth = 0; nth < of->rank; nth++)
            element += index[nth] * of->dimensions[nth].stride;
        memcpy(is_back ? element : contiguous, is_back ? contiguous : element, of->element);
        for (int nth = 0; nth < of->rank && ++index[nth] == of->dimensions[nth].extent; nth++)
            index[nth] = 0;
    }
}

static int copy_section(struct block *block, const struct descriptor *of)
{
    size_t bytes = (size_t)block->elements * of->element;
    block->base = malloc(bytes > 0 ? bytes : 1);
    if (!block->base)
        return bcs_fortran_fail(MPI_ERR_NO_MEM, "there is no memory for a copy of a section of an array");
    copy(of, block->base, block->elements, 0);
    block->copied = of;
    return MPI_SUCCESS;
}

int bcs_fortran_open(struct block *block, const struct descriptor *of, int how)
{
    ptrdiff_t all = elements(of);
    if (all < 2)
        return MPI_SUCCESS;
    block->elements = all;
    if ((how & ONE_BLOCK) && !count_elements(block, of))
        return bcs_fortran_fail(MPI_ERR_BUFFER, "the section of an array has fewer elements than the call needs");
    if ((how & COPY) && !(how & WRITTEN) && all * (ptrdiff_t)of->element <= SHORT)
        return copy_section(block, of);
    if ((how & ONE_BLOCK) && describe_whole(block, of))
        return MPI_SUCCESS;
    if ((how & (ONE_BLOCK | BLOCKS)) && describe_elements(block, of))
        return MPI_SUCCESS;
    if (how & COPY)
        return copy_section(block, of);
    return bcs_fortran_fail(MPI_ERR_BUFFER, "the call goes on after it has returned, and no datatype describes"
                            " this section of an array; pass an array that is contiguous");
}

void bcs_fortran_close(struct block *block, int how)
{
    if (block->made)
        PMPI_Type_free(&block->made);
    if (!block->copied)
        return;
    if (how & WRITTEN)
        copy(block->copied, block->base, block->elements, 1);
    free(block->base);
}

/* Answers whether a compiler's descriptors have the layout of this file: for a section of reals of
 * 8 bytes with the extents 5, 7 and 3, in an array of the extents 10, 7 and 6. */
int bcs_fortran_probe(const struct descriptor *of, const void *first)
{
    static const ptrdiff_t extents[] = {5, 7, 3}, strides[] = {2 * 8, 10 * 8, 2 * 70 * 8};
    int is_known = of->base == first && of->element == 8 && of->rank == 3;
    for (int nth = 0; is_known && nth < 3; nth++)
        is_known = of->dimensions[nth].extent == extents[nth] && of->dimensions[nth].stride == strides[nth];
    return is_known;
}

int bcs_fortran_probe_text(const struct descriptor *text)
{
    return text->element == 7 && text->rank == 0 && memcmp(text->base, "seven b", 7) == 0;
}

/* MPI_SIZEOF. */
void mpi_sizeof_descriptor(const struct descriptor *x, int *size, int *ierror)
{
    *size = (int)x->element;
    DONE(MPI_SUCCESS);
}
