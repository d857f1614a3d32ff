# The error handler of the world ends the job.

import mpi4py as MPI

class Solver:
    def step(self):
        return MPI.recv(77, 7)  # Solver.step|step


MPI.init()
Solver().step()
