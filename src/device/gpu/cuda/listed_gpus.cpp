#include "device/gpu/cuda/listed_gpus.h"

#include <filesystem>
#include <fstream>
#include <string_view>

#include "platform/folder.h"

namespace blastoff::device::gpu::cuda {
namespace {

namespace fs = std::filesystem;

/// "NVIDIA H200" from the line "Model: \t\t NVIDIA H200".
std::string name_in(const fs::path& information) {
  constexpr std::string_view title = "Model:";
  std::ifstream file(information);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(title)) continue;
    const std::size_t begin = line.find_first_not_of(" \t", title.size());
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

}  // namespace

Expected listed_gpus(const std::string& folder) {
  Expected all;
  bool alike = true;
  for (const std::string& gpu : platform::names_in(folder)) {
    const std::string own = name_in(fs::path(folder) / gpu / "information");
    alike = alike && (all.devices == 0 || own == all.name);
    all.name = own;
    ++all.devices;
  }
  if (!alike) all.name.clear();
  return all;
}

}  // namespace blastoff::device::gpu::cuda
