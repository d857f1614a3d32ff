! Ranks wait for each other in a subroutine.
program deadlock
  use mpi
  implicit none
  integer :: rank, ierror, status(MPI_STATUS_SIZE)
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call wait_for(ieor(rank, 1))
  call MPI_Finalize(ierror)
contains
  subroutine wait_for(other)
    integer, intent(in) :: other
    call MPI_Recv(rank, 1, MPI_INTEGER, other, 3, MPI_COMM_WORLD, status, ierror) ! here
  end subroutine
end program
