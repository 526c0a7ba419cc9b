// Directories of this machine that may hold NVIDIA's libraries.
#pragma once

#include <string>
#include <vector>

namespace blastoff::device::gpu::cuda {

/// Directories beneath a CUDA installation that may hold libraries. `root` may also be such a directory itself.
std::vector<std::string> library_directories(const std::string& root);

/// Existing directories, best first: CUDA_HOME and CUDA_PATH, CONDA_PREFIX, /usr/local/cuda*, NVIDIA's wheels in the
/// site-packages of VIRTUAL_ENV, of the running Python, of the Python in PATH, of the user and of the system.
std::vector<std::string> default_directories();

}  // namespace blastoff::device::gpu::cuda
