#include "report/call_sites.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "platform/caller.h"
#include "platform/descriptor.h"
#include "platform/span.h"
#include "platform/stopwatch.h"
#include "platform/threads.h"
#include "report/counter_file.h"
#include "report/counter_layout.h"
#include "report/wall_time.h"

namespace blastoff::report {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

// Further tables are made as they are needed: most programs call from a few places.
constexpr std::size_t max_tables = 8;
constexpr std::size_t sites_in_table = 32;
constexpr std::size_t text_room = std::size_t{6} << 10;
constexpr std::size_t longest_text = 250;

using TextNumber = std::uint32_t;  // where the text begins in the table's texts; 0: ""

/// A line of Python, as a table holds it.
struct PythonLine {
  std::uint64_t hash;  ///< 0 if there is no line
  TextNumber text;
};

/// A call site, in memory that other processes may read.
struct Site {
  std::atomic<std::uint64_t> key;  ///< 0: free
  std::atomic<bool> described;     ///< the next four fields are written
  operation::RoutineId routine;
  TextNumber object;
  PythonLine python;
  std::uint64_t offset;
  std::atomic<std::uint64_t> threads;  ///< a set of 64 bits; each thread has one of them
  std::atomic<double> volume;
#define BLASTOFF_SUM(name, type, ...) std::atomic<type> name;
  BLASTOFF_ROUTINE_COUNTERS(BLASTOFF_SUM)
#undef BLASTOFF_SUM
  std::array<std::atomic<std::uint32_t>, refusal_count> refusals;
};

struct Table {
  std::uint64_t layout;
  std::uint64_t bytes;  ///< from here to the next table
  std::atomic<TextNumber> text_bytes;
  std::atomic<TextNumber> program;         ///< its path, once a site in it is known
  std::array<Site, sites_in_table> sites;  ///< by key, with open addressing
  std::array<char, text_room> texts;       ///< each ends with a zero
};

constexpr std::uint64_t table_layout = counter_layout + sizeof(Table);

constinit std::array<Table, max_tables> own_memory{};  // used if no file is kept
constinit std::array<std::atomic<Table*>, max_tables> own_tables{};
constinit std::atomic<std::size_t> tables_asked_for{0};

/// The first thread that asks makes the table. Other threads that ask meanwhile, and a handler that interrupts it, get
/// nullptr.
Table* make_table(std::size_t number) {
  std::size_t known = number;
  if (!tables_asked_for.compare_exchange_strong(known, number + 1)) return nullptr;
  void* const kept = space_beside_counters(call_site_extension, sizeof(Table));
  Table* const table = kept != nullptr ? static_cast<Table*>(kept) : &own_memory[number];
  table->text_bytes.store(1, relaxed);
  table->program.store(0, relaxed);
  table->bytes = in_pages(sizeof(Table), platform::page_size());
  table->layout = table_layout;
  own_tables[number].store(table, std::memory_order_release);
  return table;
}

Table* table(std::size_t number) {
  Table* const known = own_tables[number].load(std::memory_order_acquire);
  return known != nullptr ? known : make_table(number);
}

/// The line of Python for which a thread's calls count.
struct KnownLine {
  bool used = false;
  bool of_outer_call = false;  ///< found inside the outermost call that the thread is in
  std::uint64_t hash = 0;      ///< 0 if there is no line
  const char* text = nullptr;  ///< in a table
  double credit = 0;           ///< seconds that the thread may spend on looking it up
};
[[gnu::tls_model("initial-exec")]] constinit thread_local KnownLine known_line{};

/// Look-ups may take this share of the time spent in calls. A thread begins with a credit that pays for some ten
/// look-ups.
constexpr double share_for_lines = 0.0025;
constexpr double first_credit = 5e-4;

/// Returns 0 if there is no more room.
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

/// The path of a loaded object, stored once for all sites in it.
TextNumber object_text(Table& table, std::string_view path) {
  if (path.empty()) return program_text(table);
  const std::string_view end = path.substr(path.size() - std::min(path.size(), longest_text));
  for (const Site& site : table.sites)
    if (site.described.load(std::memory_order_acquire) && end == table.texts.data() + site.object) return site.object;
  return keep_text(table, path);
}

/// The line as an entry of that table.
PythonLine line_in(Table& table, const KnownLine& line) {
  if (line.hash == 0 || line.text == nullptr) return {line.hash, 0};
  const char* const begin = table.texts.data();
  if (line.text >= begin && line.text < begin + text_room)
    return {line.hash, static_cast<TextNumber>(line.text - begin)};
  for (const Site& site : table.sites)
    if (site.described.load(std::memory_order_acquire) && site.python.hash == line.hash) return site.python;
  return {line.hash, keep_text(table, line.text)};
}

void describe(Table& table, Site& site, const platform::CodePlace& place, operation::RoutineId routine,
              const KnownLine& line) {
  site.routine = routine;
  site.offset = place.offset;
  site.object = object_text(table, place.object);
  site.python = line_in(table, line);
  site.described.store(true, std::memory_order_release);
}

/// Uses the place within the object, since the address may later belong to another object, and the object may be loaded
/// elsewhere.
std::uint64_t key_of(const void* caller, const platform::CodePlace& place, operation::RoutineId routine,
                     std::uint64_t line) {
  const std::uint64_t offset = place.offset != 0 ? place.offset : reinterpret_cast<std::uintptr_t>(caller);
  return (((offset << 8U | routine) ^ platform::hash(place.object) ^ line) * 0x9e3779b97f4a7c15U) | 1U;
}

/// nullptr if the table is full of other sites.
Site* site_in(Table& table, std::uint64_t key, const platform::CodePlace& place, operation::RoutineId routine,
              const KnownLine& line) {
  for (std::size_t probe = 0; probe < sites_in_table; ++probe) {
    Site& site = table.sites[((key >> 32) + probe) % sites_in_table];
    std::uint64_t holder = site.key.load(relaxed);
    if (holder == 0 && site.key.compare_exchange_strong(holder, key, relaxed)) {
      describe(table, site, place, routine, line);
      return &site;
    }
    if (holder == key) return &site;
  }
  return nullptr;
}

/// The text in the table that already has a site with this line, or else a copy in the last table.
const char* text_of_line(std::string_view found, std::uint64_t line_hash) {
  Table* last = nullptr;
  for (const auto& each : own_tables) {
    Table* const table = each.load(std::memory_order_acquire);
    if (table == nullptr) break;
    last = table;
    for (const Site& site : table->sites)
      if (site.described.load(std::memory_order_acquire) && site.python.hash == line_hash)
        return table->texts.data() + site.python.text;
  }
  if (last == nullptr) last = table(0);
  const TextNumber kept = last != nullptr ? keep_text(*last, found) : 0;
  return kept != 0 ? last->texts.data() + kept : nullptr;
}

void look_up(KnownLine& known) {
  std::array<char, longest_text> text;
  const std::string_view found = platform::python_line(text.data(), text.size());
  const std::uint64_t line_hash = found.empty() ? 0 : platform::hash(found);
  if (line_hash == known.hash) return;
  known.text = line_hash == 0 ? nullptr : text_of_line(found, line_hash);
  known.hash = line_hash;
}

/// The line for which a call that took so many seconds counts. A call and the calls inside it, as those of a
/// factorization, count for the same line.
const KnownLine& line_of_call(double seconds) {
  KnownLine& known = known_line;
  if (!platform::executes_python()) return known;
  known.credit += share_for_lines * seconds + (known.used ? 0 : first_credit);
  known.used = true;
  const bool inside = in_call();
  const bool found = std::exchange(known.of_outer_call, inside && known.of_outer_call);
  if (found || known.credit <= 0) return known;
  const platform::Stopwatch stopwatch;
  platform::undisturbed([&] { look_up(known); });
  known.of_outer_call = inside;
  // A look-up that took longer was interrupted: it does not use up the credit of many calls.
  known.credit = std::max(known.credit - stopwatch.seconds(), -first_credit);
  return known;
}

/// nullptr if there are too many places.
Site* site_of_call(const void* caller, operation::RoutineId routine, double seconds) {
  if (caller == nullptr) return nullptr;
  const KnownLine& line = line_of_call(seconds);
  const platform::CodePlace place = platform::code_place(caller);
  const std::uint64_t key = key_of(caller, place, routine, line.hash);
  for (std::size_t number = 0; number < max_tables; ++number) {
    Table* const own = table(number);
    if (own == nullptr) return nullptr;
    if (Site* const site = site_in(*own, key, place, routine, line)) return site;
  }
  return nullptr;
}

/// One of 64 bits, chosen by a hash, so that threads are counted without a table.
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

void read(const Table& table, std::vector<CallSite>& result) {
  for (const Site& site : table.sites)
    if (site.described.load(std::memory_order_acquire)) result.push_back(read(table, site));
}

std::vector<CallSite> in_order(std::vector<CallSite> sites) {
  std::ranges::stable_sort(sites, std::greater(),
                           [](const CallSite& site) { return site.sums.cpu_seconds + site.sums.device_seconds; });
  return sites;
}

}  // namespace

void add_to_call_site(const Record& record) {
  Site* const site = site_of_call(record.caller, record.routine, record.seconds);
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

void add_to_call_site(const void* caller, operation::RoutineId routine, Refusal refusal, const SampledCalls& calls) {
  Site* const site = site_of_call(caller, routine, calls.count * calls.seconds);
  if (site == nullptr) return;
  add(site->calls, calls.count);
  add(site->cpu_seconds, calls.count * calls.seconds);
  add(site->flops, calls.count * calls.flops);
  add(site->volume, calls.count * calls.volume);
  site->threads.fetch_or(thread_bit(), relaxed);
  site->refusals[static_cast<std::size_t>(refusal)].fetch_add(calls.count, relaxed);
}

std::vector<CallSite> call_sites() {
  std::vector<CallSite> sites;
  for (const auto& table : own_tables)
    if (const Table* const made = table.load(std::memory_order_acquire)) read(*made, sites);
  return in_order(std::move(sites));
}

std::vector<CallSite> call_sites_of_file(const std::string& path) {
  const platform::Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  std::vector<CallSite> sites;
  const auto table = std::make_unique<Table>();
  for (off_t offset = 0; file; offset += static_cast<off_t>(table->bytes)) {
    const ssize_t length = pread(file.get(), static_cast<void*>(table.get()), sizeof(Table), offset);
    const bool complete = length == static_cast<ssize_t>(sizeof(Table)) && table->layout == table_layout;
    if (!complete || table->bytes < sizeof(Table)) break;
    read(*table, sites);
  }
  return in_order(std::move(sites));
}

void forget_call_sites() {
  tables_asked_for = 0;
  known_line = {};
  for (std::size_t number = 0; number < max_tables; ++number) {
    if (own_tables[number].exchange(nullptr) != &own_memory[number]) continue;
    for (Site& site : own_memory[number].sites)
      if (site.key.load(relaxed) != 0) new (&site) Site{};
  }
}

}  // namespace blastoff::report
