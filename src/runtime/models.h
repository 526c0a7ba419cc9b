// Finds the machine model from which decisions start. The machine model in force: which one it is, and the share of it
// that this process has.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "decide/decider.h"
#include "decide/machine_model.h"
#include "decide/model_file.h"
#include "runtime/device_set.h"
#include "runtime/open_policy.h"

namespace blastoff::runtime {

// The search takes, in this order: the file that the settings name; this machine's own file in the user's cache; then,
// once the name of the GPU is known, a file for this GPU in the user's cache, in /etc/blastoff, or among those that
// came with the library.

struct FoundModel {
  decide::ModelFile file;
  std::string path;
};

/// Reads a file. Errors in it are one line on stderr. nullopt on errors, and if there is no such file.
std::optional<FoundModel> read_model(const std::string& path);

/// Folder of models in the user's cache; "" if the environment names none.
std::string models_of_user();
/// All folders with models, in the order of preference.
std::vector<std::string> model_folders();

/// This machine's own model in the user's cache, which can be read before the device is open.
std::optional<FoundModel> model_of_host();
/// The first in these folders that describes this GPU.
std::optional<FoundModel> model_of_gpu(const std::vector<std::string>& folders, const std::string& gpu);

/// The model from which decisions start: the device's part of one file, and the CPU's part of `host` if that was
/// measured on such a machine, with a BLAS that is loaded here. Each may be nullptr. The result is never freed:
/// decisions refer to it.
const decide::MachineModel* complete_model(const decide::MachineModel& assumed, const FoundModel* device,
                                           const FoundModel* host);

/// The model in force, and the decider that decides by it. Until a model has been looked for, rates are assumed.
/// Thread-safe.
class Models {
 public:
  /// Both must outlive this. `own_clock`: times are those of the simulated device's own clock.
  Models(const config::Settings& settings, OpenPolicy& open_policy, bool own_clock);
  /// The model is `known`: no other one is looked for.
  Models(const config::Settings& settings, OpenPolicy& open_policy, const decide::MachineModel& known);

  decide::Decider& decider() const { return *decider_; }
  /// Never freed.
  const decide::MachineModel& in_force() const { return *in_force_; }
  /// The same for this process's share of the device.
  const decide::MachineModel& own_share() const { return *own_share_; }

  /// What the CPU needs for a call: what earlier calls of its kind took, or what the model expects. If neither is
  /// known: the least that any CPU needs.
  double expected_cpu_seconds(const operation::Operation& operation) const;

  /// Whether a model has been looked for. seek() does that once, before the first call is judged. It changes errno and
  /// the floating-point environment, and must not be left half done by a handler.
  bool sought() const { return sought_.load(std::memory_order_relaxed); }
  void seek();
  /// Looks for the model of a GPU. `gpu`: the name as the driver lists it, or as the open device gives it.
  void seek_for(const std::string& gpu);

  /// The devices have been opened.
  void serve(DeviceSet& devices);

  /// The model of the open devices, even if size decides where calls run.
  const decide::MachineModel& of_devices() const;

  /// Sets floor_volume or followed_floor_volume.
  void publish_floor();

  /// What reports say about the model in force; nullopt while another thread looks for a model.
  std::optional<std::string> try_describe() const;

 private:
  bool find_host_model();
  void use_peak_of(const device::Properties& gpu);
  void use(const FoundModel* device);
  void decide_by_own_share();

  const config::Settings& settings_;
  OpenPolicy& open_policy_;
  bool follows_small_calls_ = false;
  const decide::MachineModel assumed_;
  const std::unique_ptr<decide::Decider> decider_;
  std::atomic<bool> sought_{true};
  std::atomic<const decide::MachineModel*> in_force_{&assumed_};
  std::atomic<const decide::MachineModel*> own_share_{&assumed_};
  std::atomic<int> expected_sharers_{1};  // processes of each device, as far as that is known before one is open
  std::atomic<DeviceSet*> devices_{nullptr};
  mutable std::mutex mutex_;
  std::optional<FoundModel> host_model_;  // named by the settings, or this machine's own
  std::string gpu_sought_;                // GPU for which a model has been looked for
  std::string description_;
};

/// A call whose blas::volume() is below this goes straight to the original: Decider::floor_volume(). Minus infinity,
/// below which no call is, until the settings have been read. If small calls are followed one by one, because they are
/// logged or take the time of a device's own clock, followed_floor_volume has the value and floor_volume stays at minus
/// infinity.
extern std::atomic<double> floor_volume;
extern std::atomic<double> followed_floor_volume;

}  // namespace blastoff::runtime
