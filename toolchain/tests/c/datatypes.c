/* Derived datatypes travel, say what they were made of, and are freed while they are used. */
#include "check.h"
#include <stddef.h>

struct particle {
    char kind;
    double place[3];
    int number;
};

int main(int argc, char **argv)
{
    int rank, size, count;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;

    int lengths[3] = {1, 3, 1};
    MPI_Aint places[3] = {offsetof(struct particle, kind), offsetof(struct particle, place), offsetof(struct particle, number)};
    MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT32_T}, packed, particle;
    MPI_Type_create_struct(3, lengths, places, types, &packed);
    MPI_Type_create_resized(packed, 0, sizeof(struct particle), &particle);
    MPI_Type_commit(&particle);

    int integers, addresses, datatypes, combiner;
    MPI_Type_get_envelope(packed, &integers, &addresses, &datatypes, &combiner);
    CHECK(integers == 4 && addresses == 3 && datatypes == 3 && combiner == MPI_COMBINER_STRUCT);
    int numbers[4];
    MPI_Aint said[3];
    MPI_Datatype of[3];
    MPI_Type_get_contents(packed, 4, 3, 3, numbers, said, of);
    CHECK(numbers[0] == 3 && numbers[2] == 3 && said[2] == places[2]);
    CHECK(of[0] == MPI_CHAR && of[2] == MPI_INT32_T);
    MPI_Type_free(&packed);

    struct particle out[4], in[4];
    memset(out, 0, sizeof out);
    memset(in, 0, sizeof in);
    for (int i = 0; i < 4; i++) {
        out[i].kind = 'a' + i;
        out[i].place[2] = rank + i / 4.0;
        out[i].number = 10 * rank + i;
    }
    MPI_Status status;
    MPI_Request request;
    MPI_Irecv(in, 4, particle, from, 0, MPI_COMM_WORLD, &request);
    MPI_Datatype freed = particle;
    MPI_Type_free(&freed);
    CHECK(freed == MPI_DATATYPE_NULL);
    MPI_Datatype again;
    MPI_Type_create_struct(3, lengths, places, types, &packed);
    MPI_Type_create_resized(packed, 0, sizeof(struct particle), &again);
    MPI_Type_commit(&again);
    MPI_Send(out, 4, again, to, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, again, &count);
    CHECK(count == 4);
    MPI_Get_elements(&status, again, &count);
    CHECK(count == 20);
    for (int i = 0; i < 4; i++)
        CHECK(in[i].kind == 'a' + i && in[i].place[2] == from + i / 4.0 && in[i].number == 10 * from + i);

    /* A column of a matrix. */
    double matrix[6][5], column[6];
    MPI_Datatype every_fifth;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 5; j++)
            matrix[i][j] = 10 * i + j + rank / 100.0;
    MPI_Type_vector(6, 1, 5, MPI_DOUBLE, &every_fifth);
    MPI_Type_commit(&every_fifth);
    MPI_Sendrecv(&matrix[0][2], 1, every_fifth, to, 1, column, 6, MPI_DOUBLE, from, 1, MPI_COMM_WORLD, &status);
    for (int i = 0; i < 6; i++)
        CHECK(column[i] == 10 * i + 2 + from / 100.0);

    char bytes[100], name[MPI_MAX_OBJECT_NAME];
    int position = 0;
    MPI_Pack(&matrix[0][1], 1, every_fifth, bytes, sizeof bytes, &position, MPI_COMM_WORLD);
    CHECK(position == 48);
    position = 0;
    MPI_Unpack(bytes, sizeof bytes, &position, column, 6, MPI_DOUBLE, MPI_COMM_WORLD);
    CHECK(column[5] == 51 + rank / 100.0);

    /* As others can read it. */
    long many[3] = {1, -2, 0};
    const unsigned char as_others[] = {0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe};
    MPI_Aint bytes_of = 0, at = 0;
    MPI_Count large = 0;
    MPI_Pack_external_size("external32", 2, MPI_LONG, &bytes_of);
    CHECK(bytes_of == 8);
    MPI_Pack_external_size_c("external32", 2, MPI_INT64_T, &large);
    CHECK(large == 16);
    MPI_Pack_external("external32", many, 2, MPI_LONG, bytes, sizeof bytes, &at);
    CHECK(at == 8 && memcmp(bytes, as_others, 8) == 0);
    at = 0;
    MPI_Unpack_external("external32", bytes, 8, &at, &many[1], 2, MPI_LONG);
    CHECK(at == 8 && many[1] == 1 && many[2] == -2);

    /* By class and size, and by precision and range: whoever asks for the same again has the same datatype. */
    MPI_Datatype found, same;
    CHECK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &found) == MPI_SUCCESS && found == MPI_REAL8);
    CHECK(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 1, &found) == MPI_SUCCESS && found == MPI_INTEGER1);
    CHECK(MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 32, &found) == MPI_SUCCESS && found == MPI_COMPLEX32);
    MPI_Type_create_f90_real(12, MPI_UNDEFINED, &found);
    MPI_Type_create_f90_real(12, MPI_UNDEFINED, &same);
    MPI_Type_size(found, &count);
    CHECK(found == same && count == 8);
    MPI_Type_get_envelope(found, &integers, &addresses, &datatypes, &combiner);
    CHECK(integers == 2 && addresses == 0 && datatypes == 0 && combiner == MPI_COMBINER_F90_REAL);
    MPI_Type_create_f90_real(12, 4931, &same);
    CHECK(found != same);
    MPI_Type_create_f90_integer(9, &found);
    MPI_Type_create_f90_integer(9, &same);
    MPI_Type_size(found, &count);
    CHECK(found == same && count == 4);

    MPI_Type_get_name(MPI_INT32_T, name, &count);
    CHECK(strcmp(name, "MPI_INT32_T") == 0);
    MPI_Type_free(&every_fifth);
    MPI_Type_free(&again);
    MPI_Type_free(&packed);
    MPI_Finalize();
    return 0;
}
