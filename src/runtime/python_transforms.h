// The Fourier transforms of numpy.fft and scipy.fft, which compute by extensions without symbols that could be
// intercepted. Python code in the program (python/blastoff/session/transforms.py) passes them on. It also finds the
// loops of numpy.matmul (intercept/blas/numpy_loops.h).
#pragma once

namespace blastoff::runtime {

/// Runs that code in the Python interpreter of this process, if this thread executes Python and holds the interpreter's
/// lock. It imports neither NumPy nor SciPy. Once is enough; further calls change nothing. Holds no lock of ours.
void take_python_transforms();

/// Gives numbers to the routines under which the transforms are counted. Called once, when the library is loaded.
void add_python_transforms();

}  // namespace blastoff::runtime
