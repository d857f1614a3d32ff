import mpi4py as MPI


def give_up(rank):
    if rank == 1:
        MPI.mpi.MPI_Abort(MPI.WORLD, 7)  # give_up
    MPI.mpi.MPI_Barrier(MPI.WORLD)


give_up(MPI.init())
