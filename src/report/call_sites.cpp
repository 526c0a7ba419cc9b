#include "report/call_sites.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <new>
#include <string_view>

#include "platform/caller.h"
#include "platform/descriptor.h"
#include "platform/stopwatch.h"
#include "platform/threads.h"
#include "report/counter_file.h"
#include "report/counter_layout.h"

namespace blastoff::report {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

constexpr std::size_t most_sites = 256;
constexpr std::size_t text_room = std::size_t{48} << 10;
constexpr std::size_t longest_text = 250;

using TextNumber = std::uint32_t;  // where it begins; 0: ""

struct PythonLine {
  std::uint64_t hash;  ///< 0: there is none
  TextNumber text;
};

/// One place, in memory that other processes may read.
struct Site {
  std::atomic<std::uint64_t> key;  ///< 0: free
  std::atomic<bool> described;     ///< the next four are written
  operation::RoutineId routine;
  TextNumber object;
  PythonLine python;
  std::uint64_t offset;
  std::atomic<std::uint64_t> threads;  ///< a bit for each, of 64
  std::atomic<double> volume;
#define BLASTOFF_SUM(name, type, ...) std::atomic<type> name;
  BLASTOFF_ROUTINE_COUNTERS(BLASTOFF_SUM)
#undef BLASTOFF_SUM
  std::array<std::atomic<std::uint32_t>, refusal_count> refusals;
};

struct Table {
  std::uint64_t layout;
  std::atomic<TextNumber> text_bytes;
  std::atomic<TextNumber> program;     ///< its path, once a site in it is known
  std::array<Site, most_sites> sites;  ///< by key, with open addressing
  std::array<char, text_room> texts;   ///< each ends with a zero
};

constexpr std::uint64_t table_layout = counter_layout + sizeof(Table);

constinit Table own_memory{};  // where no file is kept
constinit std::atomic<Table*> own_table{nullptr};
constinit std::atomic<bool> asked_for_file{false};

/// Of the first thread that comes. Others that come meanwhile, and a handler in the middle of it, get none.
Table* make_table() {
  if (asked_for_file.exchange(true)) return nullptr;
  void* const kept = space_beside_counters(call_site_extension, sizeof(Table));
  Table* const table = kept != nullptr ? static_cast<Table*>(kept) : &own_memory;
  table->text_bytes.store(1, relaxed);
  table->program.store(0, relaxed);
  table->layout = table_layout;
  own_table.store(table, std::memory_order_release);
  return table;
}

Table* table() {
  Table* const known = own_table.load(std::memory_order_acquire);
  return known != nullptr ? known : make_table();
}

/// 0 if there is no more room.
TextNumber keep_text(Table& table, std::string_view text) {
  if (text.empty()) return 0;
  text = text.substr(text.size() - std::min(text.size(), longest_text));
  const auto bytes = static_cast<TextNumber>(text.size() + 1);
  if (table.text_bytes.load(relaxed) + bytes > text_room) return 0;
  const TextNumber begin = table.text_bytes.fetch_add(bytes, relaxed);
  if (begin + bytes > text_room) return 0;
  *std::ranges::copy(text, table.texts.data() + begin).out = '\0';
  return begin;
}

/// The path of the program, which the dynamic linker does not know.
TextNumber program_text(Table& table) {
  if (const TextNumber known = table.program.load(relaxed)) return known;
  std::array<char, 512> path;
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  const TextNumber kept = keep_text(table, {path.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))});
  table.program.store(kept, relaxed);
  return kept;
}

/// The path of a loaded object; once for all sites in it.
TextNumber object_text(Table& table, std::string_view path) {
  if (path.empty()) return program_text(table);
  const std::string_view end = path.substr(path.size() - std::min(path.size(), longest_text));
  for (const Site& site : table.sites)
    if (site.described.load(std::memory_order_acquire) && end == table.texts.data() + site.object) return site.object;
  return keep_text(table, path);
}

void describe(Table& table, Site& site, const void* caller, operation::RoutineId routine, PythonLine python) {
  const platform::CodePlace place = platform::code_place(caller);
  site.routine = routine;
  site.offset = place.offset;
  site.object = object_text(table, place.object);
  site.python = python;
  site.described.store(true, std::memory_order_release);
}

std::uint64_t key_of(const void* caller, operation::RoutineId routine, PythonLine python) {
  return (((reinterpret_cast<std::uintptr_t>(caller) << 8U | routine) ^ python.hash) * 0x9e3779b97f4a7c15U) | 1U;
}

/// nullptr where there are too many places.
Site* site_of(Table& table, const void* caller, operation::RoutineId routine, PythonLine python) {
  const std::uint64_t key = key_of(caller, routine, python);
  for (std::size_t probe = 0; probe < most_sites; ++probe) {
    Site& site = table.sites[((key >> 32) + probe) % most_sites];
    std::uint64_t holder = site.key.load(relaxed);
    if (holder == 0 && site.key.compare_exchange_strong(holder, key, relaxed)) {
      describe(table, site, caller, routine, python);
      return &site;
    }
    if (holder == key) return &site;
  }
  return nullptr;
}

/// The line of Python that a thread's calls count for.
struct KnownLine {
  bool used = false;
  PythonLine line;
  double credit = 0;  ///< seconds that may be spent on looking it up
};
[[gnu::tls_model("initial-exec")]] constinit thread_local KnownLine known_line{};

/// Of the time spent in calls; of a thread that has made none yet, the cost of some hundred look-ups.
constexpr double share_for_lines = 0.0025;
constexpr double first_credit = 2e-3;
/// What one look-up counts at most. One that took longer was interrupted, which may not end all look-ups to come.
constexpr double dearest_look_up = 1e-4;

PythonLine look_up_line(Table& table) {
  std::array<char, longest_text> text;
  const std::string_view found = platform::python_line(text.data(), text.size());
  if (found.empty()) return {};
  const std::uint64_t line_hash = hash(found);
  for (const Site& site : table.sites)
    if (site.described.load(std::memory_order_acquire) && site.python.hash == line_hash) return site.python;
  return {line_hash, keep_text(table, found)};
}

PythonLine line_of_call(Table& table, double seconds) {
  if (!platform::executes_python()) return {};
  KnownLine& known = known_line;
  known.credit += share_for_lines * seconds + (known.used ? 0 : first_credit);
  known.used = true;
  if (known.credit <= 0) return known.line;
  const platform::Stopwatch stopwatch;
  platform::undisturbed([&] { known.line = look_up_line(table); });
  known.credit -= std::min(stopwatch.seconds(), dearest_look_up);
  return known.line;
}

/// Of 64, so that threads can be told apart without a table.
std::uint64_t thread_bit() {
  const auto address = reinterpret_cast<std::uintptr_t>(&known_line);
  return std::uint64_t{1} << ((address * 0x9e3779b97f4a7c15U) >> 58U);
}

template <class Sum, class Amount>
void add(std::atomic<Sum>& sum, Amount amount) {
  if (amount != Amount{}) sum.fetch_add(static_cast<Sum>(amount), relaxed);
}

CallSite read(const Table& table, const Site& site) {
  const auto text = [&](TextNumber number) {
    const char* const begin = table.texts.data() + std::min<std::size_t>(number, text_room - 1);
    return std::string(begin, strnlen(begin, static_cast<std::size_t>(table.texts.end() - begin)));
  };
  CallSite result;
  result.routine = site.routine;
  result.object = text(site.object);
  result.offset = site.offset;
  result.python = text(site.python.text);
  result.threads = std::popcount(site.threads.load(relaxed));
  result.volume = site.volume.load(relaxed);
#define BLASTOFF_READ(name, ...) result.sums.name = site.name.load(relaxed);
  BLASTOFF_ROUTINE_COUNTERS(BLASTOFF_READ)
#undef BLASTOFF_READ
  for (std::size_t i = 0; i < refusal_count; ++i) result.refusals[i] = site.refusals[i].load(relaxed);
  return result;
}

std::vector<CallSite> read(const Table& table) {
  std::vector<CallSite> result;
  for (const Site& site : table.sites)
    if (site.described.load(std::memory_order_acquire)) result.push_back(read(table, site));
  std::ranges::stable_sort(result, std::greater(),
                           [](const CallSite& site) { return site.sums.cpu_seconds + site.sums.device_seconds; });
  return result;
}

}  // namespace

void add_to_call_site(const Record& record) {
  Table* const own = table();
  if (own == nullptr || record.caller == nullptr) return;
  Site* const site = site_of(*own, record.caller, record.routine, line_of_call(*own, record.seconds));
  if (site == nullptr) return;
  RoutineTotals sums;
  count_in(sums, record);
#define BLASTOFF_ADD(name, ...) add(site->name, sums.name);
  BLASTOFF_ROUTINE_COUNTERS(BLASTOFF_ADD)
#undef BLASTOFF_ADD
  add(site->volume, record.volume);
  site->threads.fetch_or(thread_bit(), relaxed);
  site->refusals[static_cast<std::size_t>(record.refusal)].fetch_add(1, relaxed);
}

void add_to_call_site(const void* caller, operation::RoutineId routine, std::uint32_t weight, double seconds,
                      double flops, double volume) {
  Table* const own = table();
  if (own == nullptr || caller == nullptr) return;
  Site* const site = site_of(*own, caller, routine, line_of_call(*own, weight * seconds));
  if (site == nullptr) return;
  add(site->calls, weight);
  add(site->cpu_seconds, weight * seconds);
  add(site->flops, weight * flops);
  add(site->volume, weight * volume);
  site->threads.fetch_or(thread_bit(), relaxed);
  site->refusals[static_cast<std::size_t>(Refusal::below_min_size)].fetch_add(weight, relaxed);
}

std::vector<CallSite> call_sites() {
  const Table* const own = own_table.load(std::memory_order_acquire);
  return own == nullptr ? std::vector<CallSite>() : read(*own);
}

std::vector<CallSite> call_sites_of_file(const std::string& path) {
  const platform::Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  const bool complete = file && fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                        static_cast<std::size_t>(status.st_size) >= sizeof(Table);
  void* const memory = complete ? mmap(nullptr, sizeof(Table), PROT_READ, MAP_SHARED, file.get(), 0) : MAP_FAILED;
  if (memory == MAP_FAILED) return {};
  const auto& table = *static_cast<const Table*>(memory);
  auto result = table.layout == table_layout ? read(table) : std::vector<CallSite>();
  munmap(memory, sizeof(Table));
  return result;
}

void forget_call_sites() {
  Table* const own = own_table.exchange(nullptr);
  asked_for_file = false;
  known_line = {};
  if (own != &own_memory) return;
  for (Site& site : own_memory.sites)
    if (site.key.load(relaxed) != 0) new (&site) Site{};
}

}  // namespace blastoff::report
