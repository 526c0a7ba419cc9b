#include "runtime/model_search.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "intercept/loaded_objects.h"
#include "platform/folder.h"
#include "platform/fork_guard.h"
#include "platform/process.h"
#include "platform/reserve.h"
#include "platform/threads.h"
#include "report/said.h"
#include "runtime/user_cache.h"

namespace blastoff::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_files = 256;  // read in a folder

/// `library` is a path, or the name of a file in any folder. If there are several builds of a BLAS under one name, only
/// the path tells which one was measured.
bool is_loaded(const std::string& library) {
  const auto same_file = [](const struct stat& left, const struct stat& right) {
    return left.st_dev == right.st_dev && left.st_ino == right.st_ino;
  };
  const bool is_path = library.find('/') != std::string::npos;
  struct stat measured {};
  if (is_path && stat(library.c_str(), &measured) != 0) return false;
  const platform::ForkGuard guard;
  const auto objects = intercept::loaded_objects();
  return std::ranges::any_of(objects, [&](const auto& object) {
    if (!is_path) return object.name == library;
    struct stat loaded {};
    return stat(object.path.c_str(), &loaded) == 0 && same_file(measured, loaded);
  });
}

/// Whether the CPU's part of the model holds for this process.
bool holds_here(const decide::ModelFile& file) {
  if (file.cpu_rates.empty() || file.cpu.empty() || file.cpu != platform::cpu_name()) return false;
  if (file.host != platform::host_name() && file.cores != platform::cpu_count()) return false;
  return !file.blas.empty() && is_loaded(file.blas);
}

int threads_in_use() {
  const int requested = platform::requested_threads();
  return requested > 0 ? std::min(requested, platform::cpu_count()) : platform::cpu_count();
}

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> files;
  for (const std::string& name : platform::names_in(folder))
    if (files.size() < max_files && fs::path(name).extension() == ".json")
      files.push_back((fs::path(folder) / name).string());
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::optional<FoundModel> read_model(const std::string& path) {
  const auto text = content_of(path);
  if (!text) return std::nullopt;
  const platform::FromReserve for_json;
  auto file = decide::parse_model(*text);
  if (file) return FoundModel{std::move(*file), path};
  report::tell_run(fmt::format("machine model {} is not used: {}", path, file.error()));
  return std::nullopt;
}

std::string models_of_user() {
  const std::string cache = user_cache();
  return cache.empty() ? "" : cache + "/machines";
}

std::vector<std::string> model_folders() {
  std::vector<std::string> folders;
  if (std::string user = models_of_user(); !user.empty()) folders.push_back(std::move(user));
  folders.emplace_back("/etc/blastoff/machines");
  const platform::ForkGuard guard;
  const char* const own = intercept::path_of(reinterpret_cast<const void*>(&read_model));
  if (own == nullptr) return folders;
  // Relative to a library that was installed for the system (lib, lib/TRIPLET), by pip, or not at all.
  const fs::path library = fs::path(own).parent_path();
  for (const char* const place :
       {"../share/blastoff/machines", "../../share/blastoff/machines", "../machines", "../share/machines"})
    folders.push_back((library / place).lexically_normal().string());
  return folders;
}

std::optional<FoundModel> model_of_host() {
  const std::string folder = models_of_user();
  return folder.empty() ? std::nullopt : read_model(folder + "/" + platform::host_name() + ".json");
}

std::optional<FoundModel> model_of_gpu(const std::vector<std::string>& folders, const std::string& gpu) {
  for (const std::string& folder : folders) {
    for (const std::string& path : files_of(folder)) {
      auto found = read_model(path);
      if (found && found->file.describes(gpu)) return found;
    }
  }
  return std::nullopt;
}

const decide::MachineModel* complete_model(const decide::MachineModel& assumed, const FoundModel* device,
                                           const FoundModel* host) {
  auto* const model = new decide::MachineModel(device != nullptr ? device->file.model : assumed);
  model->cpu_flops = assumed.cpu_flops;
  if (host == nullptr || !holds_here(host->file)) return model;
  const int threads = threads_in_use();
  model->cpu_rates = *host->file.cpu_rates_on(threads);
  // One thread reads memory more slowly than all together. Its rate is part of the rates of gemv.
  if (threads == host->file.cores) model->cpu_memory_rate = host->file.cpu_memory_rate;
  return model;
}

}  // namespace blastoff::runtime
