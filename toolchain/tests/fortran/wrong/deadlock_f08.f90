! Ranks wait for each other, with a section of an array.
program deadlock
  use mpi_f08
  implicit none
  integer :: rank, got(4, 4)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Recv(got(1, :), 4, MPI_INTEGER, ieor(rank, 1), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ! here
  call MPI_Finalize()
end program
