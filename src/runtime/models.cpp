#include "runtime/models.h"

#include <fmt/format.h>

#include <sys/stat.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "device/open.h"
#include "intercept/loaded_objects.h"
#include "platform/contained.h"
#include "platform/folder.h"
#include "platform/fork_guard.h"
#include "platform/process.h"
#include "platform/reserve.h"
#include "platform/threads.h"
#include "report/said.h"
#include "runtime/settled_calls.h"
#include "runtime/user_cache.h"

namespace blastoff::runtime {

namespace {

/// The CPU's share is assumed, since ranks that share a node compute at the same time.
decide::MachineModel assumed_model() {
  decide::MachineModel model;
  model.cpu_flops = decide::max_flops_of_a_core * platform::cpu_share();
  return model;
}

bool decides_by_time(const config::Settings& settings) {
  return config::decide_by(settings) == config::DecideBy::time;
}

/// The least size if size decides. A trace without a device records every call that a device could speed up.
std::int64_t usual_min_size(const config::Settings& settings, const decide::MachineModel& model) {
  const bool traces_only = settings.device == "none" && !settings.trace.empty();
  return traces_only ? std::llround(std::cbrt(model.floor_volume())) : decide::usual_min_size;
}

std::unique_ptr<decide::Decider> create_decider(const config::Settings& settings, const decide::MachineModel& model) {
  return decides_by_time(settings)
             ? decide::by_time(settings.min_size, model)
             : decide::by_size_and_depth(settings.min_size.value_or(usual_min_size(settings, model)));
}

}  // namespace

std::atomic<double> floor_volume{-std::numeric_limits<double>::infinity()};
std::atomic<double> followed_floor_volume{-std::numeric_limits<double>::infinity()};

Models::Models(const config::Settings& settings, OpenPolicy& open_policy, const decide::MachineModel& known)
    : settings_(settings),
      open_policy_(open_policy),
      assumed_(known),
      decider_(create_decider(settings, assumed_)),
      description_(assumed_.name) {}

Models::Models(const config::Settings& settings, OpenPolicy& open_policy, bool own_clock)
    : Models(settings, open_policy, assumed_model()) {
  follows_small_calls_ = settings.log.mode == config::LogMode::calls || own_clock;
  sought_ = !decides_by_time(settings) || settings.device == "none" || settings.model == "none";
}

double Models::expected_cpu_seconds(const operation::Operation& operation) const {
  const double known = decider_->cpu_seconds(operation, 0);
  return known > 0 ? known : in_force().min_cpu_seconds_of(operation);
}

void Models::publish_floor() {
  (follows_small_calls_ ? followed_floor_volume : floor_volume) = decider_->floor_volume();
  begin_new_term();
}

// Meanwhile other threads decide by the assumed model.
void Models::seek() {
  if (sought_.exchange(true)) return;
  platform::contained([&] {  // assumed rates need no memory
    const device::Expected gpu = device::expected(settings_.device);
    expected_sharers_ = device::expected_sharers(settings_.device, gpu.devices, platform::local_size());
    if (find_host_model()) return;
    if (!gpu.name.empty()) seek_for(gpu.name);
    if (expected_sharers_ == 1) return;
    const std::lock_guard lock(mutex_);
    decide_by_own_share();
  });
}

/// A model that the settings name counts as this machine's own.
bool Models::find_host_model() {
  const std::lock_guard lock(mutex_);
  const bool named = !settings_.model.empty();
  host_model_ = named ? read_model(settings_.model) : model_of_host();
  if (named && !host_model_) report::tell_run(fmt::format("no machine model {}: rates are assumed", settings_.model));
  if (host_model_) use(&*host_model_);
  return host_model_.has_value();
}

void Models::seek_for(const std::string& gpu) {
  if (!decides_by_time(settings_) || !settings_.model.empty()) return;
  const std::lock_guard lock(mutex_);
  if (std::exchange(gpu_sought_, gpu) == gpu || (host_model_ && host_model_->file.describes(gpu))) return;
  const auto found = model_of_gpu(model_folders(), gpu);
  if (found || in_force_ != &assumed_) use(found ? &*found : nullptr);
}

/// For dividing calls among devices or into blocks, and for what closing takes.
const decide::MachineModel& Models::of_devices() const {
  if (decides_by_time(settings_) || settings_.model == "none") return *in_force_;
  const auto found = settings_.model.empty()
                         ? model_of_gpu(model_folders(), devices_.load()->front().device().properties().name)
                         : read_model(settings_.model);
  return found ? *complete_model(assumed_, &*found, nullptr) : *in_force_;
}

/// Where no model has a rate of the GPU, its products count with what they usually reach of the GPU's peak.
void Models::use_peak_of(const device::Properties& gpu) {
  constexpr double usual_share = 0.7;
  const std::lock_guard lock(mutex_);
  const decide::MachineModel& known = *in_force_;
  if (!decides_by_time(settings_) || settings_.model == "none" || !known.device_rates.empty()) return;
  if (gpu.peak_single <= 0 || gpu.peak_double <= 0) return;
  auto* const model = new decide::MachineModel(known);
  const auto set = [&](decide::Precision precision, double peak) {
    model->device_rates.set({decide::Family::gemm, precision}, std::array{decide::RatePoint{1, usual_share * peak}});
  };
  set(decide::Precision::s, gpu.peak_single);
  set(decide::Precision::d, gpu.peak_double);
  description_ += ", products by the peak of the GPU";
  in_force_ = model;
}

/// `device`: nullptr if no model describes it. Requires the lock.
void Models::use(const FoundModel* device) {
  const decide::MachineModel* const model = complete_model(assumed_, device, host_model_ ? &*host_model_ : nullptr);
  description_ = device == nullptr ? assumed_.name : device->file.model.name + " (" + device->path + ")";
  open_policy_.expect(model->open_seconds + model->close_seconds);
  in_force_ = model;
  decide_by_own_share();
  if (DeviceSet* const devices = devices_) devices->use(*model);
}

/// Processes that share a device share its time. A decision refers to the model for as long as the process lives.
/// Requires the lock.
void Models::decide_by_own_share() {
  if (!decides_by_time(settings_)) return;
  DeviceSet* const devices = devices_;
  const int processes = devices != nullptr ? devices->front().device().properties().sharers : expected_sharers_.load();
  const decide::MachineModel* const model = in_force_;
  own_share_ = processes > 1 ? new decide::MachineModel(model->shared_by(processes)) : model;
  decider_->use(*own_share_);
  publish_floor();
}

void Models::serve(DeviceSet& devices) {
  devices_ = &devices;
  platform::contained([&] { use_peak_of(devices.front().device().properties()); });
  platform::contained([&] { devices.use(of_devices()); });
  platform::contained([&] {
    const std::lock_guard lock(mutex_);
    decide_by_own_share();
  });
}

std::optional<std::string> Models::try_describe() const {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return lock ? std::optional(description_) : std::nullopt;
}

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
