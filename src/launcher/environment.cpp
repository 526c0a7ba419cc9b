#include "launcher/environment.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "launcher/installation.h"
#include "launcher/path.h"
#include "launcher/run_directories.h"
#include "launcher/site.h"
#include "platform/numa.h"
#include "platform/process.h"
#include "report/context.h"
#include "report/file.h"
#include "report/special_file.h"
#include "tracking/memory_events.h"

namespace blastoff::launcher {

namespace {

constexpr std::string_view huge_pages = "glibc.malloc.hugetlb";

/// Whether a device's memory is a NUMA node on this machine, as far as can be known without the driver.
bool has_device_node(const Environment& settings) {
  const std::string_view chosen = settings.get("BLASTOFF_DEVICE_NODE");
  return (!chosen.empty() && chosen != "-1") || !platform::nodes_without_cpus().empty();
}

/// Whether the program's malloc must be interposed to place or align memory.
bool must_place(const Environment& settings) {
  const std::string_view place = settings.get("BLASTOFF_PLACE");
  return place.starts_with("at-malloc") || (place == "auto" && has_device_node(settings)) ||
         !settings.get("BLASTOFF_ALIGN").empty();
}

/// Whether the allocator library must report which memory is freed, because the kernel does not.
bool must_report(const Environment& settings) {
  return settings.get("BLASTOFF_POLICY") != "copy" && !tracking::kernel_tells_of_memory();
}

/// The value of LD_PRELOAD: our libraries, then the entries that it had before.
Expected<std::string> preloads(const Environment& settings, const std::string& library) {
  const std::string allocator = allocator_beside(library);
  const bool has_allocator = access(allocator.c_str(), F_OK) == 0;
  const bool placing = must_place(settings);
  if (placing && !has_allocator) return fail(allocator + " is missing: --place at-malloc and --align need it");
  std::string list = library;
  if (placing || (has_allocator && must_report(settings))) list += ":" + allocator;
  if (const std::string_view before = settings.get("LD_PRELOAD"); !before.empty()) list.append(":").append(before);
  return list;
}

/// The path made absolute, since the program may change its directory.
Expected<std::string> anchored(const std::string& path) {
  if (!can_be_absolute(path)) return fail(path + ": the current directory has been deleted; give the full path");
  return absolute(path);
}

/// The pattern of reports or traces for a path that the user has given. Makes its folder.
Expected<std::string> output_pattern(const std::string& what, const std::string& path) {
  report::Context context;
  context.pid = getpid();
  context.rank = platform::global_rank();
  context.host = platform::host_name();
  const std::string pattern = report::report_pattern(path, what == "report" ? ".json" : ".trace");
  const std::string obstacle = report::obstacle_to_report(pattern, context);
  if (!obstacle.empty()) return fail("no " + what + " can be written to " + path + ": " + obstacle);
  if (what == "trace" && report::is_special_file(report::expand_path(pattern, context)))
    return fail("no trace can be written to " + path + ": it is neither an ordinary file nor a directory");
  return anchored(pattern);
}

Expected<std::string> absolute_value(const config::Option& option, const std::string& path) {
  const std::string_view name = option.name;
  if (name == "report" || name == "trace") return output_pattern(option.name, path);
  if (name == "model" && path == "none") return path;
  return anchored(path);
}

void ask_for_huge_pages(Environment& environment) {
  const std::string tunables(environment.get("GLIBC_TUNABLES"));
  if (environment.get("BLASTOFF_PLACE") == "none" || tunables.find(huge_pages) != std::string::npos) return;
  environment.set("GLIBC_TUNABLES", tunables + (tunables.empty() ? "" : ":") + std::string(huge_pages) + "=1");
}

/// The name of this run in reports.
std::string run_name() {
  return platform::host_name() + ":" + std::to_string(getpid()) + ":" + nanoseconds_now();
}

}  // namespace

Environment::Environment() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos && find(text.substr(0, equals)) == entries_.end()) entries_.emplace_back(text);
  }
}

std::vector<std::string>::const_iterator Environment::find(std::string_view name) const {
  return std::ranges::find_if(entries_, [&](const std::string& entry) {
    return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
  });
}

std::string_view Environment::get(std::string_view name) const {
  const auto entry = find(name);
  return entry == entries_.end() ? std::string_view{} : std::string_view(*entry).substr(name.size() + 1);
}

void Environment::set(const std::string& name, std::string_view value) {
  std::string entry = name + "=";
  entry += value;
  const auto before = find(name);
  if (before == entries_.end())
    entries_.push_back(std::move(entry));
  else
    entries_[static_cast<std::size_t>(before - entries_.begin())] = std::move(entry);
}

void Environment::restore(const std::string& name) {
  if (const char* const value = std::getenv(name.c_str())) return set(name, value);
  if (const auto entry = find(name); entry != entries_.end()) entries_.erase(entry);
}

Expected<Environment> program_environment(const CommandLine& line, const std::string& library) {
  Environment environment;
  for (const SiteDefaults site = site_defaults(); const auto& [option, value] : site.values)
    if (environment.get(option->environment).empty()) environment.set(option->environment, value);
  for (const auto& [option, value] : line.given) environment.set(option->environment, value);
  for (const config::Option& option : config::options()) {
    const std::string value(environment.get(option.environment));
    if (!config::is_path(option) || value.empty()) continue;
    const auto path = absolute_value(option, value);
    if (!path) return tl::unexpected(path.error());
    environment.set(option.environment, *path);
  }
  constexpr std::string_view to_file = "calls=";
  if (const std::string log(environment.get("BLASTOFF_LOG")); log.starts_with(to_file)) {
    const std::string file = log.substr(to_file.size());
    const auto path = file == "-" ? file : anchored(report::with_home(file));
    if (!path) return tl::unexpected(path.error());
    environment.set("BLASTOFF_LOG", std::string(to_file) + *path);
  }
  ask_for_huge_pages(environment);
  const auto preloaded = preloads(environment, library);
  if (!preloaded) return tl::unexpected(preloaded.error());
  environment.set("LD_PRELOAD", *preloaded);
  environment.set("BLASTOFF_RUN", run_name());
  return environment;
}

Environment own_environment(const Environment& program) {
  Environment environment = program;
  for (const char* const name : {"LD_PRELOAD", "GLIBC_TUNABLES", "BLASTOFF_RUN_DIRECTORY"}) environment.restore(name);
  return environment;
}

}  // namespace blastoff::launcher
