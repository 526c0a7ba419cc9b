#include "device/cuda/listed_gpus.h"

#include <filesystem>
#include <fstream>
#include <string_view>

#include "platform/folder.h"

namespace blastoff::device::cuda {
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

std::string listed_name(const std::string& folder) {
  std::string name;
  for (const std::string& gpu : platform::names_in(folder)) {
    const std::string own = name_in(fs::path(folder) / gpu / "information");
    if (!name.empty() && own != name) return "";
    name = own;
  }
  return name;
}

}  // namespace blastoff::device::cuda
