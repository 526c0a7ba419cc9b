#include "runtime/description.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../include/blastoff_allocator.h"
#include "intercept/counted/counted.h"
#include "intercept/installation.h"
#include "intercept/unseen_families.h"
#include "platform/fork_guard.h"
#include "platform/numa.h"
#include "platform/process.h"
#include "platform/processor.h"
#include "report/file.h"
#include "report/recorder.h"
#include "tracking/interposed/memory_events.h"

namespace blastoff::runtime {
namespace {

const std::string& value_of(const char* name, const std::vector<std::pair<std::string, std::string>>& settings) {
  return std::find_if(settings.begin(), settings.end(), [&](const auto& setting) { return setting.first == name; })
      ->second;
}

const char* name_of(intercept::counted::Family family) {
  switch (family) {
    case intercept::counted::Family::level1: break;
    case intercept::counted::Family::level2: return "level 2";
    case intercept::counted::Family::pblas: return "PBLAS";
  }
  return "level 1";
}

void describe_interception(report::Context& context) {
  const intercept::Effort effort = intercept::patching_effort();
  context.interception.objects_seen = effort.objects;
  context.interception.seconds = effort.seconds;
  for (const intercept::PatchedObject& object : intercept::patched_objects()) {
    report::PatchedObject& described = context.interception.objects.emplace_back();
    described.path = object.path;
    described.seconds = object.seconds;
    described.patched = object.patched;
    for (const auto& [name, obstacle] : object.refused)
      described.refused.emplace_back(name, intercept::patch::to_string(obstacle));
    for (const auto& [name, rule] : object.left_alone) described.left_alone.emplace_back(name, rule);
  }
  for (const intercept::counted::Routine& each : intercept::counted::routines())
    context.interception.counted.push_back(
        {name_of(each.family), std::string(each.name), each.calls, each.seconds, each.own_seconds});
  std::ranges::sort(context.interception.counted, std::greater(), &report::CountedRoutine::own_seconds);
}

double seconds_of(std::chrono::system_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

bool is_interpreter(std::string_view program) {
  constexpr std::array<std::string_view, 5> names{"python", "pypy", "julia", "octave", "perl"};
  program.remove_prefix(program.find_last_of('/') + 1);
  return program == "R" || std::ranges::any_of(names, [&](std::string_view name) { return program.starts_with(name); });
}

/// The command line without arguments: the program, and the script that an interpreter runs. The script is the first
/// word that is no option; a word without the suffix of a script may be an option's value, and is left out.
std::vector<std::string> without_arguments(const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 5> suffixes{".py", ".R", ".jl", ".m", ".pl"};
  if (words.empty()) return {};
  const std::string& program = words.front();
  if (!is_interpreter(program)) return {program};
  const auto word = std::find_if(words.begin() + 1, words.end(), [](const std::string& option) {
    return !option.starts_with('-') || option == "-c" || option == "-e";
  });
  const bool is_script = word != words.end() && std::ranges::any_of(suffixes, [&](std::string_view suffix) {
                           return word->ends_with(suffix);
                         });
  return is_script ? std::vector{program, *word} : std::vector{program};
}

}  // namespace

std::optional<report::Allocation> describe_allocation() {
  const platform::ForkGuard guard;
  const auto counts =
      reinterpret_cast<decltype(&blastoff_allocator_counts)>(dlsym(RTLD_DEFAULT, "blastoff_allocator_counts"));
  if (counts == nullptr || !tracking::allocator_belongs_here()) return std::nullopt;
  blastoff_placement placement{};
  counts(&placement);
  const auto text = [](const char* reason) { return std::string(reason == nullptr ? "" : reason); };
  return report::Allocation{
      .placed_blocks = placement.placed_blocks,
      .placed_bytes = placement.placed_bytes,
      .bound_blocks = placement.bound_blocks,
      .bound_bytes = placement.bound_bytes,
      .left_blocks = placement.left_blocks,
      .left_bytes = placement.left_bytes,
      .node = placement.node,
      .unbound = text(placement.unbound),
      .owner = text(placement.owner),
  };
}

report::Context identity(config::ArgumentsMode arguments) {
  report::Context context;
  context.run = report::this_run();
  context.program = platform::program_name();
  const std::vector<std::string> words = platform::command_words();
  context.command_line =
      platform::command_line(arguments == config::ArgumentsMode::drop ? without_arguments(words) : words);
  context.host = platform::host_name();
  context.pid = getpid();
  context.rank = platform::global_rank();
  return context;
}

report::Cpu describe_cpu(const std::vector<intercept::CpuLibrary>& libraries) {
  report::Cpu cpu;
  static const platform::Processor& known = *new platform::Processor(platform::processor());
  cpu.processor = known;
  const char* const chosen = secure_getenv("OPENBLAS_CORETYPE");
  for (const intercept::CpuLibrary& each : libraries) {
    report::CpuLibrary& library = cpu.libraries.emplace_back();
    library.name = each.name;
    library.version = each.version;
    library.kernels = each.kernels;
    library.path = each.path;
    library.has_several = each.has_several;
    report::judge(library, cpu.processor, chosen == nullptr ? "" : chosen);
  }
  return cpu;
}

std::vector<report::UnseenFamily> describe_unseen() {
  std::vector<report::UnseenFamily> described;
  for (const intercept::UnseenFamily& each : intercept::unseen_families())
    described.push_back({each.family, each.function, each.object});
  return described;
}

report::Context describe_process(const config::Settings& settings, const std::string& failure,
                                 std::chrono::steady_clock::time_point loaded_at) {
  report::Context context = identity(settings.arguments);
  context.kernel = platform::kernel_release();
  context.huge_pages = platform::transparent_huge_pages();
  const std::chrono::duration<double> real = std::chrono::steady_clock::now() - loaded_at;
  context.elapsed_seconds = std::max(0.0, real.count() + report::max_seconds_ahead());
  context.started = seconds_of(std::chrono::system_clock::now()) - real.count();
  context.device_kind = settings.device;
  context.device.state = failure.empty() ? "not started" : failure;
  context.settings = config::describe(settings);
  context.policy_requested = value_of("policy", context.settings);
  context.policy = context.policy_requested;
  context.interception.mode = value_of("intercept", context.settings);
  context.tracker = "none";
  describe_interception(context);
  context.allocation = describe_allocation();
  return context;
}

}  // namespace blastoff::runtime
