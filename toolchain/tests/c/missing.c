/* Functions that the library has not yet, and those that find nothing to work on, ask the error handler of the
   object that the standard names. */
#include "check.h"

static int told, code_told;
static MPI_Comm comm_told;

static void of_comm(MPI_Comm *comm, int *code, ...)
{
    told++;
    comm_told = *comm;
    MPI_Error_class(*code, &code_told);
}

static void of_file(MPI_File *file, int *code, ...)
{
    told++;
    CHECK(*file == MPI_FILE_NULL);
    MPI_Error_class(*code, &code_told);
}

static void is_unsupported(int code)
{
    int class;
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_UNSUPPORTED_OPERATION);
}

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Comm child, copy;
    MPI_Errhandler handler, got;
    MPI_Init(&argc, &argv);

    /* Files: that of MPI_FILE_NULL, which returns unless the program says otherwise. Those of communicators are fatal. */
    is_unsupported(MPI_File_open(MPI_COMM_WORLD, "/nowhere", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    is_unsupported(MPI_File_delete("/nowhere", MPI_INFO_NULL));
    MPI_File_get_errhandler(MPI_FILE_NULL, &got);
    CHECK(got == MPI_ERRORS_RETURN);
    MPI_File_create_errhandler(of_file, &handler);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, handler) == MPI_SUCCESS);
    MPI_Errhandler_free(&handler);
    is_unsupported(MPI_File_open(MPI_COMM_WORLD, "/nowhere", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    CHECK(told == 1 && code_told == MPI_ERR_UNSUPPORTED_OPERATION);
    MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO);
    CHECK(told == 2 && code_told == MPI_ERR_IO);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN) == MPI_SUCCESS);

    /* Processes: that of the communicator that they are given. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Comm_spawn("/nowhere", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child,
                                  MPI_ERRCODES_IGNORE)) == MPI_ERR_SPAWN);
    CHECK(class_of(MPI_Comm_accept("nobody", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child)) == MPI_ERR_PORT);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_create_errhandler(of_comm, &handler);
    MPI_Comm_set_errhandler(copy, handler);
    MPI_Errhandler_free(&handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    told = 0;
    CHECK(class_of(MPI_Comm_connect("nobody", MPI_INFO_NULL, 0, copy, &child)) == MPI_ERR_PORT);
    CHECK(told == 1 && comm_told == copy && code_told == MPI_ERR_PORT);
    MPI_Comm_free(&copy);

    /* What is about no object: that of MPI_COMM_SELF. */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Close_port("nobody")) == MPI_ERR_PORT);
    CHECK(class_of(MPI_Comm_join(-1, &child)) == MPI_ERR_OTHER);
    MPI_Finalize();
    return 0;
}
