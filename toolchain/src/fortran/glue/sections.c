/* Sections of arrays that are not contiguous (19.1.12): strided, reversed, or with gaps.
 *
 * A call sees the elements of a section one after another. Where a datatype can say so, one is
 * made: then nothing is copied here, and the call may go on after it has returned. By the standard
 * a reduction is defined on predefined types only, so the library is asked whether it takes this
 * one. Where no datatype will do, a call that returns when it is done gets a copy, and all others
 * fail. A short section that is only read is copied, too.
 */
#include "sections.h"

static ptrdiff_t elements(const struct descriptor *of)
{
    ptrdiff_t count = 1;
    for (int nth = 0; nth < of->rank; nth++)
        count *= of->dimensions[nth].extent;
    return count;
}

/* The datatypes of a part of a section, and where they lie: a part begins and ends within a slab of
 * each dimension, and a descriptor has at most 15 (Fortran 2018, 8.5.8.1). */
struct pieces {
    int number;
    MPI_Count lengths[32], places[32];
    MPI_Datatype types[32];
};

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

static int copy_section(struct block *block, const struct descriptor *of, size_t least)
{
    size_t bytes = (size_t)block->elements * of->element;
    block->base = malloc(bytes > least ? bytes : least);
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
        return copy_section(block, of, 1);
    if ((how & ONE_BLOCK) && describe_whole(block, of))
        return MPI_SUCCESS;
    if ((how & (ONE_BLOCK | BLOCKS)) && describe_elements(block, of))
        return MPI_SUCCESS;
    if (how & COPY)
        return copy_section(block, of, 1);
    return bcs_fortran_fail(MPI_ERR_BUFFER, "the call goes on after it has returned, and no datatype describes"
                            " this section of an array; pass an array that is contiguous");
}

/* Puts the type of `count` elements of the first `rank` dimensions, from the element `first` on, and
 * their place into the ends of both arrays, as up to two pieces a dimension and one for the middle. */
static int add_pieces(const struct descriptor *of, int rank, ptrdiff_t first, ptrdiff_t count, MPI_Count place, MPI_Datatype element, struct pieces *pieces)
{
    if (count == 0)
        return MPI_SUCCESS;
    if (rank > 0) {
        ptrdiff_t slab = 1;
        for (int nth = 0; nth < rank - 1; nth++)
            slab *= of->dimensions[nth].extent;
        ptrdiff_t stride = of->dimensions[rank - 1].stride, skipped = first % slab;
        place += first / slab * stride;
        if (skipped > 0) {
            ptrdiff_t head = count < slab - skipped ? count : slab - skipped;
            int code = add_pieces(of, rank - 1, skipped, head, place, element, pieces);
            if (code != MPI_SUCCESS)
                return code;
            return add_pieces(of, rank, 0, count - head, place + stride, element, pieces);
        }
    }
    int code = section_type(of, rank, count, element, &pieces->types[pieces->number]);
    pieces->places[pieces->number] = place;
    if (code == MPI_SUCCESS)
        pieces->number++;
    return code;
}

/* Makes the type of a block that begins `place` bytes after the start of the section, as its
 * elements lie one after another. Returns whether that is possible. */
static int block_type(const struct descriptor *of, MPI_Count count, MPI_Count place, MPI_Datatype type, MPI_Datatype *made)
{
    MPI_Count lower, extent, size, here = (MPI_Count)of->element;
    if (PMPI_Type_get_extent_c(type, &lower, &extent) != MPI_SUCCESS || PMPI_Type_size_c(type, &size) != MPI_SUCCESS)
        return 0;
    if (lower != 0 || extent != size || extent <= 0 || here % extent != 0 || place < 0 || place % here != 0)
        return 0;
    MPI_Count each = here / extent, first = place / here;
    if (count % each != 0 || count / each > elements(of) - first)
        return 0;
    struct pieces pieces = {0};
    MPI_Datatype element;
    if (PMPI_Type_contiguous_c(each, type, &element) != MPI_SUCCESS)
        return 0;
    int code = add_pieces(of, of->rank, first, count / each, 0, element, &pieces);
    PMPI_Type_free(&element);
    if (code == MPI_SUCCESS) {
        for (int nth = 0; nth < pieces.number; nth++)
            pieces.lengths[nth] = 1;
        code = PMPI_Type_create_struct_c(pieces.number, pieces.lengths, pieces.places, pieces.types, made);
    }
    for (int nth = 0; nth < pieces.number; nth++)
        PMPI_Type_free(&pieces.types[nth]);
    return code == MPI_SUCCESS && PMPI_Type_commit(made) == MPI_SUCCESS;
}

static MPI_Count number_at(const void *array, int nth, size_t size)
{
    return size == sizeof(int) ? ((const int *)array)[nth] : ((const MPI_Count *)array)[nth];
}

static void free_each(struct each *each)
{
    for (int nth = 0; nth < each->number; nth++)
        if (each->made[nth])
            PMPI_Type_free(&each->made[nth]);
    free(each->made);
    free((void *)each->counts);
    free((void *)each->places);
}

int bcs_fortran_open_each(struct block *block, const struct descriptor *of, struct each *each, int how)
{
    size_t number = (size_t)each->number + 1;
    struct each described = *each;
    MPI_Count *counts = calloc(number, sizeof(*counts));
    described.counts = counts;
    described.places = calloc(number, sizeof(MPI_Count));
    described.made = calloc(number, sizeof(*described.made));
    if (!counts || !described.places || !described.made)
        abort();
    int is_described = 1;
    for (int nth = 0; is_described && nth < each->number; nth++) {
        MPI_Count count = number_at(each->counts, nth, each->count_size);
        if (count == 0)
            continue;
        MPI_Count place = number_at(each->places, nth, each->place_size);
        is_described = count > 0 && block_type(of, count, place, each->types[nth], &described.made[nth]);
        if (each->count_size == sizeof(int))
            ((int *)counts)[nth] = 1;
        else
            counts[nth] = 1;
    }
    if (is_described) {
        for (int nth = 0; nth < each->number; nth++)
            if (described.made[nth])
                each->types[nth] = described.made[nth];
        *each = described;
        block->each = each;
        return MPI_SUCCESS;
    }
    free_each(&described);
    return bcs_fortran_open(block, of, how);
}

/* Asks the library whether a reduction may use such datatypes (mpi-abi/src/calls/fortran.rs).
 * Another library of the ABI does not have it. */
__attribute__((weak)) int bcs_make_operand(MPI_Datatype contribution, MPI_Datatype result, MPI_Datatype element, MPI_Op op);

/* Describes a buffer of a reduction as one element of a new type. Returns whether that is possible. */
static int describe_operand(struct block *block, const struct descriptor *of, const struct operands *both)
{
    block->count = both->count;
    block->type = both->type;
    if (!is_contiguous(of) && block->base == of->base)
        return describe_whole(block, of);
    if (PMPI_Type_contiguous_c(block->count, block->type, &block->made) != MPI_SUCCESS)
        return 0;
    return PMPI_Type_commit(&block->made) == MPI_SUCCESS;
}

static void free_types(struct operands *both)
{
    struct block *blocks[] = {&both->contribution, &both->result};
    for (int nth = 0; nth < 2; nth++) {
        if (blocks[nth]->made)
            PMPI_Type_free(&blocks[nth]->made);
        blocks[nth]->made = NULL;
    }
}

static int describe_operands(struct operands *both, const struct descriptor *contribution, const struct descriptor *result, MPI_Op op)
{
    struct block *from = &both->contribution, *to = &both->result;
    int is_apart = from->base != MPI_IN_PLACE;
    if (bcs_make_operand && both->count > 0 && (!is_apart || describe_operand(from, contribution, both))
        && describe_operand(to, result, both)
        && bcs_make_operand(is_apart ? from->made : MPI_DATATYPE_NULL, to->made, both->type, op)) {
        both->type = to->made;
        both->count = 1;
        return 1;
    }
    free_types(both);
    return 0;
}

/* Copies a buffer of a reduction if it is a section. One that is too short may be a result of which
 * this rank gets nothing: then the copy is as long as the call needs. */
static int copy_operand(struct block *block, const struct descriptor *of, const struct operands *both)
{
    if (is_contiguous(of) || block->base != of->base || elements(of) < 2)
        return MPI_SUCCESS;
    MPI_Count lower, extent;
    if (PMPI_Type_get_extent_c(both->type, &lower, &extent) != MPI_SUCCESS || extent < 1 || both->count < 1)
        extent = 1;
    block->count = both->count;
    block->type = both->type;
    count_elements(block, of);
    return copy_section(block, of, both->count > 0 ? (size_t)(both->count * extent) : 1);
}

int bcs_fortran_open_operands(struct operands *both, const struct descriptor *contribution, const struct descriptor *result, MPI_Op op, int how)
{
    /* Of no elements nothing is looked at, and the library judges a negative number. */
    if (both->count <= 0)
        return MPI_SUCCESS;
    MPI_Count size = 0;
    int is_short = PMPI_Type_size_c(both->type, &size) == MPI_SUCCESS && size * both->count <= SHORT;
    if (!((how & COPY) && is_short) && describe_operands(both, contribution, result, op))
        return MPI_SUCCESS;
    if (!(how & COPY))
        return bcs_fortran_fail(MPI_ERR_BUFFER, "the call goes on after it has returned, and no datatype describes"
                                " this section of an array; pass an array that is contiguous");
    int code = copy_operand(&both->contribution, contribution, both);
    return code == MPI_SUCCESS ? copy_operand(&both->result, result, both) : code;
}

void bcs_fortran_close_operands(struct operands *both)
{
    free_types(both);
    bcs_fortran_close(&both->contribution, COPY);
    bcs_fortran_close(&both->result, COPY | WRITTEN);
}

void bcs_fortran_close(struct block *block, int how)
{
    if (block->made)
        PMPI_Type_free(&block->made);
    if (block->each)
        free_each(block->each);
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
