! Objects that a function in C (languages_c.c) gets from Fortran, and the other way round (19.3).
program languages
  use mpi_f08
  implicit none
  interface
    function in_c(comm, datatype, key, status, made) bind(C) result(answer)
      use, intrinsic :: iso_c_binding, only: c_int
      import :: MPI_Status
      integer(c_int), value :: comm, datatype, key
      type(MPI_Status), intent(in) :: status
      integer(c_int) :: made, answer
    end function
  end interface
  type(MPI_Comm) :: comm
  type(MPI_Datatype) :: pair, made
  type(MPI_Status) :: status
  integer :: key, answer, size
  integer(MPI_ADDRESS_KIND) :: value
  logical :: flag
  call MPI_Init()
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Type_contiguous(2, MPI_INTEGER, pair)
  call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(comm, key, 4711_MPI_ADDRESS_KIND)
  call MPI_Sendrecv(key, 1, MPI_INTEGER, 0, 5, answer, 1, MPI_INTEGER, 0, 5, MPI_COMM_SELF, status)
  answer = in_c(comm%MPI_VAL, pair%MPI_VAL, key, status, made%MPI_VAL)
  if (answer /= 0) call MPI_Abort(MPI_COMM_WORLD, answer)
  call MPI_Type_size(made, size)
  if (size /= 24) call MPI_Abort(MPI_COMM_WORLD, 20)
  ! The attribute that C has set is an address.
  call MPI_Comm_get_attr(comm, key, value, flag)
  if (.not. flag .or. value == 4711) call MPI_Abort(MPI_COMM_WORLD, 21)
  call MPI_Type_free(made)
  call MPI_Type_free(pair)
  call MPI_Comm_free(comm)
  print '(A)', 'no errors'
  call MPI_Finalize()
end program
