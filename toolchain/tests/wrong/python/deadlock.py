# Each rank waits for the next one.

import mpi4py as MPI


def wait(rank):
    MPI.recv((rank + 1) % 4, 7)  # wait


wait(MPI.init())
