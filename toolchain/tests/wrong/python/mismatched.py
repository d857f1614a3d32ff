import mpi4py as MPI


def some():
    MPI.mpi.MPI_Barrier(MPI.WORLD)  # some


def others():
    MPI.mpi.MPI_Bcast(None, 0, MPI.INT, 0, MPI.WORLD)  # others


some() if MPI.init() == 0 else others()
