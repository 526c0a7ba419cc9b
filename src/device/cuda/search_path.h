// Where NVIDIA's libraries may lie on this machine.
#pragma once

#include <string>
#include <vector>

namespace blastoff::device::cuda {

/// Directories that may hold libraries beneath a CUDA installation (or which are such a directory themselves).
std::vector<std::string> library_directories(const std::string& root);

/// Existing directories, best first: CUDA_HOME and CUDA_PATH, CONDA_PREFIX, /usr/local/cuda*, NVIDIA's wheels in the
/// site-packages of VIRTUAL_ENV, of the running Python, of the Python in PATH, of the user and of the system.
std::vector<std::string> default_directories();

}  // namespace blastoff::device::cuda
