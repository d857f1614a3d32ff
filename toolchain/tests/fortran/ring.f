C     A ring of messages, in the fixed form and with mpif.h.
      program ring
      implicit none
      include 'mpif.h'
      integer rank, size, ierror, status(MPI_STATUS_SIZE), token, nth
      call MPI_INIT(ierror)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierror)
      token = rank
      do 10 nth = 1, size
      call MPI_SENDRECV_REPLACE(token, 1, MPI_INTEGER,
     &  mod(rank + 1, size), 3, mod(rank + size - 1, size), 3,
     &  MPI_COMM_WORLD, status, ierror)
   10 continue
      if (token .ne. rank) call MPI_ABORT(MPI_COMM_WORLD, 1, ierror)
      if (status(MPI_SOURCE) .ne. mod(rank + size - 1, size))
     &  call MPI_ABORT(MPI_COMM_WORLD, 2, ierror)
      call MPI_ALLREDUCE(MPI_IN_PLACE, token, 1, MPI_INTEGER, MPI_SUM,
     &  MPI_COMM_WORLD, ierror)
      if (token .ne. size * (size - 1) / 2)
     &  call MPI_ABORT(MPI_COMM_WORLD, 3, ierror)
      if (MPI_WTIME() .le. 0d0) call MPI_ABORT(MPI_COMM_WORLD, 4,
     &  ierror)
      if (rank .eq. 0) print '(A)', 'no errors'
      call MPI_FINALIZE(ierror)
      end
