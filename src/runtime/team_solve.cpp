#include "runtime/team_solve.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "decide/distributed_library.h"
#include "device/kinds.h"
#include "device/team.h"
#include "platform/contained.h"
#include "platform/log.h"
#include "platform/process.h"
#include "platform/threads.h"
#include "residency/footprint.h"
#include "residency/mirror/pins.h"
#include "runtime/device_choice.h"
#include "runtime/gathered_locks.h"
#include "runtime/process.h"
#include "runtime/team_parts.h"

namespace blastoff::runtime {
namespace {

using operation::Operand;
using scalapack::TeamWords;

/// The steps of a call (TeamWords::all_able).
enum Step : int {
  ready,     ///< the device and the libraries are there
  invited,   ///< the first member has an invitation
  joined,    ///< the team is there
  able,      ///< the device has memory for the parts
  copied,    ///< the parts of the matrices are on the devices
  prepared,  ///< the libraries have their work space
  made,      ///< the call has been made
  returned,  ///< the results are in host memory
};

std::atomic<bool> any_failure{false};

void say_once(const std::string& why) {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) platform::log_line("ranks do not compute together on their devices: %s", why.c_str());
}

/// Calls look() every few milliseconds while work() runs, which is inside a library. One of the two runs on a thread of
/// its own: look() if `looks_elsewhere`. Returns false if no thread could be started. Neither throws.
template <class Work, class Look>
bool watched(bool looks_elsewhere, const Work& work, const Look& look) {
  static constexpr std::chrono::milliseconds pause{20};
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool worked = false;
    bool ended = false;  ///< the thread
  };
  const auto shared = std::make_shared<Shared>();
  const auto labour = [&] {
    work();
    const std::lock_guard lock(shared->mutex);
    shared->worked = true;
    shared->changed.notify_all();
  };
  const auto watch = [&] {
    std::unique_lock lock(shared->mutex);
    while (!shared->changed.wait_for(lock, pause, [&] { return shared->worked; })) look();
  };
  const bool started = platform::start_thread("blastoff-team", [shared, looks_elsewhere, &labour, &watch] {
    if (looks_elsewhere)
      watch();
    else
      labour();
    const std::lock_guard lock(shared->mutex);
    shared->ended = true;
    shared->changed.notify_all();
  });
  if (!started) return false;
  if (looks_elsewhere)
    labour();
  else
    watch();
  std::unique_lock lock(shared->mutex);
  shared->changed.wait(lock, [&] { return shared->ended; });
  return true;
}

/// What a process has for all its teams. Never destroyed: device calls during process exit are not safe.
struct Membership {
  std::mutex mutex;
  std::map<int, std::unique_ptr<device::Device>> devices;  ///< that were opened for teams, by their number
  std::map<int, std::unique_ptr<device::TeamLibrary>> libraries;
  std::map<std::vector<std::uint64_t>, std::unique_ptr<device::Team>> teams;  ///< nullptr: it has failed

  static Membership& instance() {
    static auto& all = *new Membership;
    return all;
  }
};

/// One call on one member.
class TeamCall {
 public:
  TeamCall(Membership& own, const operation::Operation& operation, TeamWords& words, const TeamShare& share)
      : own_(own),
        operation_(operation),
        words_(words),
        share_(share),
        members_(share.team.members),
        number_(share.device),
        member_(share.member) {}

  /// The next step, at which it has said nothing yet.
  int next() const { return next_; }

  TeamOutcome run() {
    const std::vector<std::uint64_t> key = words_.processes();
    auto known = own_.teams.find(key);
    if (known == own_.teams.end()) {
      known = own_.teams.emplace(key, nullptr).first;
      known->second = form();
    }
    if (known->second == nullptr) return TeamOutcome::unable;
    next_ = able;
    const TeamOutcome outcome = compute(*known->second);
    if (broken_) {
      any_failure = true;
      (void)known->second.release();  // a member may be using it still
    }
    return outcome;
  }

 private:
  /// What a member marks in its note, but for the notes of form().
  enum Mark : std::size_t { without_result, lost };
  static void mark(TeamWords::Note& note, Mark mark) { note[mark] = std::byte{1}; }
  bool any_marked(int step, Mark mark) const {
    for (int member = 0; member < members_; ++member)
      if (words_.note_of(member, step)[mark] != std::byte{0}) return true;
    return false;
  }

  bool all_able(const Status& status, TeamWords::Note note = {}) {
    if (!status) {
      say_once(status.error().message);
      if (status.error().kind == ErrorKind::lost) mark(note, lost);
    }
    return words_.all_able(next_++, status.has_value(), note);
  }

  std::unique_ptr<device::Team> form() {
    any_failure = true;  // unless it comes to its end
    const Status opened = open();
    TeamWords::Note note{};
    if (opened) {
      const std::string name = device().properties().bus + " " + platform::host_name();
      std::memcpy(note.data(), name.data(), std::min(name.size(), note.size()));
    }
    if (!all_able(opened, note) || !are_different()) return nullptr;
    Status made;
    if (member_ == 0) {
      const auto invitation = library().invite();
      if (invitation)
        note = *invitation;
      else
        made = tl::unexpected(invitation.error());
    }
    if (!all_able(made, note)) return nullptr;
    auto team = library().join(words_.note_of(0, invited), member_, members_);
    if (!all_able(team ? Status{} : tl::unexpected(team.error()))) return nullptr;
    any_failure = false;
    return std::move(*team);
  }

  /// Whether each member has a device of its own.
  bool are_different() const {
    std::vector<TeamWords::Note> notes;
    notes.reserve(static_cast<std::size_t>(members_));
    for (int member = 0; member < members_; ++member) notes.push_back(words_.note_of(member, ready));
    std::ranges::sort(notes);
    const bool different = std::ranges::adjacent_find(notes) == notes.end();
    if (!different) say_once("two of them would use the same device");
    return different;
  }

  Status open() {
    const config::Settings& settings = Process::instance().settings();
    if (own_.libraries.contains(number_)) return {};
    DeviceSet* const in_use = Process::instance().devices_in_use();
    if (in_use == nullptr || own_device(*in_use) == nullptr) {
      if (auto enough = check_address_space(settings); !enough) return enough;
      const std::string kind(device::default_kind.name);
      auto opened = open_device(settings, kind + ":" + std::to_string(number_));
      if (!opened) return tl::unexpected(opened.error());
      own_.devices[number_] = std::move(*opened);
    }
    auto library = device::open_team_library(device(), settings.toolkit_path);
    if (!library) return tl::unexpected(library.error());
    own_.libraries[number_] = std::move(*library);
    return {};
  }

  /// The device with the number, if the process uses it for other calls, too. It may be lost.
  device::Device* own_device(DeviceSet& devices) const {
    for (DeviceContext* const context : devices.all())
      if (context->device().properties().index == number_) return &context->device();
    return nullptr;
  }
  device::Device& device() const {
    const auto opened = own_.devices.find(number_);
    return opened != own_.devices.end() ? *opened->second : *own_device(*Process::instance().devices_in_use());
  }
  const device::TeamLibrary& library() const { return *own_.libraries.at(number_); }

  TeamOutcome compute(device::Team& team) {
    const std::int64_t block = share_.team.block;
    std::vector<OwnPart> own;
    for (std::size_t i = 0; i < operation_.operands().size(); ++i)
      own.emplace_back(operation_.operands()[i], share_.team, member_, share_.parts[i]);
    PartMemory taken(device());
    std::vector<device::TeamPart> parts;
    auto queue = device().create_queue();
    const auto locks = locked(share_.memory);
    const auto without_pins = unlocked_heap();
    const auto take = [&]() -> Status {
      if (auto supported = library().supports(operation_); !supported) return supported;
      if (!queue) return tl::unexpected(queue.error());
      if (!without_pins) return tl::unexpected(without_pins.error());
      for (const OwnPart& part : own) {
        const Result<device::Address> address = taken.take(part.bytes());
        if (!address) return tl::unexpected(address.error());
        parts.push_back(part.at(*address));
      }
      return {};
    };
    const auto copy_in = [&]() -> Status {
      for (std::size_t i = 0; i < own.size(); ++i)
        if (auto queued = own[i].copy_to_device(**queue, parts[i].address); !queued) return queued;
      return (*queue)->synchronize();
    };
    if (!all_able(take())) {
      broken_ = any_marked(able, lost);
      return TeamOutcome::unable;
    }
    if (share_.bring) share_.bring();

    broken_ = true;  // until the call has come to an end
    if (!all_able(copy_in())) return TeamOutcome::unable;
    const Status ready_to_go = in_library(team, prepared, [&] { return team.prepare(operation_, parts, block); });
    if (!all_able(ready_to_go)) return TeamOutcome::unable;
    Status done = in_library(team, made, [&] { return team.execute(); });
    TeamWords::Note no_result{};
    if (!done && done.error().kind == ErrorKind::failed) {
      mark(no_result, without_result);
      done = {};
    }
    if (!all_able(done, no_result)) return TeamOutcome::failed;

    const auto copy_out = [&]() -> Status {
      for (std::size_t i = 0; i < own.size(); ++i)
        if (auto queued = own[i].copy_to_host(**queue, parts[i].address); !queued) return queued;
      return (*queue)->synchronize();
    };
    const bool solved = !any_marked(made, without_result);
    if (solved && !all_able(copy_out())) return TeamOutcome::failed;
    broken_ = false;
    return solved ? TeamOutcome::solved : TeamOutcome::unsolved;
  }

  /// Executes `work`, which is inside a library, on the way to a step. If the other members do not go on, it lets this
  /// one go. It is not watched any more when it has ended: once this member has said its word, the others may end the
  /// call.
  template <class Work>
  Status in_library(device::Team& team, int step, const Work& work) {
    Status done = tl::unexpected(Error{ErrorKind::no_host_memory, "there is no memory for the call, or no thread"});
    const auto look = [&] {
      if (words_.is_hopeless(step)) team.abandon();
    };
    const auto contained = [&] { platform::contained([&] { done = work(); }); };
    (void)watched(words_.on_any_thread(), contained, look);
    return done;
  }

  /// The libraries may copy memory of malloc (Queue::copies_heap_memory).
  static Result<std::optional<residency::mirror::WithoutPins>> unlocked_heap() {
    DeviceSet* const in_use = Process::instance().devices_in_use();
    if (in_use == nullptr || in_use->front().pins() == nullptr) return std::nullopt;
    auto without = residency::mirror::WithoutPins::begin({std::shared_ptr<void>(), in_use->front().pins()});
    if (without) return without;
    return tl::unexpected(Error{ErrorKind::unsupported, "page-locked memory of calls in flight is in the way"});
  }

  std::unique_ptr<GatheredLocks> locked(platform::Span memory) {
    if (memory.empty()) return nullptr;
    auto locks = std::make_unique<GatheredLocks>(device(), operation_, memory);
    const bool all = std::ranges::all_of(operation_.operands(), [&](const Operand& operand) {
      return operand.empty() || locks->readable(residency::bounds(operand));
    });
    if (all) return locks;
    locks.reset();
    lock_ahead(device(), memory);
    return std::make_unique<GatheredLocks>(device(), operation_, memory);
  }

  Membership& own_;
  const operation::Operation& operation_;
  TeamWords& words_;
  const TeamShare& share_;
  const int members_;
  const int number_;  ///< of this member's device
  const int member_;
  int next_ = ready;
  bool broken_ = false;
};

}  // namespace

TeamOutcome solve_in_team(const operation::Operation& operation, TeamWords& words, const TeamShare& share) {
  Membership& own = Membership::instance();
  const std::lock_guard lock(own.mutex);
  TeamCall call(own, operation, words, share);
  try {
    return call.run();
  } catch (const std::bad_alloc&) {
    any_failure = true;
    words.all_able(call.next(), false);  // the others wait for a word
    return call.next() > prepared ? TeamOutcome::failed : TeamOutcome::unable;
  }
}

/// They stay the same: a team lives on, and its members keep their devices.
scalapack::SeenDevices seen_devices() {
  static const scalapack::SeenDevices seen = []() -> scalapack::SeenDevices {
    config::Settings settings = Process::instance().settings();
    if (settings.device != device::default_kind.name) return {};  // the user has chosen some
    settings.device += ":all";
    const auto names = list_devices(settings);
    if (!names) return {};
    DeviceSet* const in_use = Process::instance().devices_in_use();
    return {.count = static_cast<int>(names->size()),
            .first = in_use != nullptr ? in_use->front().device().properties().index : 0};
  }();
  return seen;
}

bool asks_for_team(config::GatherGpus wanted, const operation::Operation& operation, const TeamProblem& problem) {
  const bool needs = wanted == config::GatherGpus::automatic && !problem.fits_one;
  // A network on which NCCL does not come up would stop the job, so several nodes must be asked for.
  const bool asked = wanted == config::GatherGpus::all || (needs && problem.one_node);
  return asked && device::may_run_in_team(operation);
}

int team_members(const TeamProblem& problem, int devices) {
  const int members = std::min(devices, problem.ranks);
  return members <= 1 || problem.bytes / static_cast<std::size_t>(members) > problem.room ? 1 : members;
}

bool may_choose_team(const operation::Operation& operation, const TeamProblem& problem) {
  const config::Settings& settings = Process::instance().settings();
  const bool verifies = settings.verify.mode != config::VerifyMode::off;  // as only one process can
  return !verifies && !any_failure && asks_for_team(settings.gather_gpus, operation, problem);
}

scalapack::Team choose_team(const operation::Operation& operation, const TeamProblem& problem, int devices) {
  const int members = team_members(problem, devices);
  if (members == 1) return {};
  return {.members = members, .block = decide::columns_dealt(operation, members)};
}

}  // namespace blastoff::runtime
