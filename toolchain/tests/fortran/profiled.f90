! A procedure of the program in the place of the library's, which calls that by its other name.
subroutine MPI_Send(buf, count, datatype, dest, tag, comm, ierror)
  implicit none
  integer :: buf(*), count, datatype, dest, tag, comm, ierror, calls
  common /counted/ calls
  calls = calls + 1
  call PMPI_Send(buf, count, datatype, dest, tag, comm, ierror)
end subroutine

program profiled
  implicit none
  include 'mpif.h'
  integer :: calls, got, ierror
  common /counted/ calls
  calls = 0
  call MPI_Init(ierror)
  call MPI_Send([3], 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, ierror)
  call MPI_Sendrecv(4, 1, MPI_INTEGER, 0, 1, got, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierror)
  if (calls /= 1 .or. got /= 4) call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  print '(A)', 'no errors'
  call MPI_Finalize(ierror)
end program
