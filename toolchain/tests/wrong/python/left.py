import ctypes
import mpi4py as MPI

rank = MPI.init()
buffer = ctypes.c_int()
request = MPI.irecv(ctypes.byref(buffer), -1, 9)  # <module>
made = [MPI.dup() for _ in range(1)]  # <module>|<listcomp>
MPI.mpi.MPI_Finalize()
