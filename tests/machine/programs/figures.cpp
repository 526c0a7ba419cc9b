// The cost on a coherent machine of moving matrices to the device's node (by first-use, and by the system call alone),
// of placing them there instead, and of using matrices that are there.
//
//   figures NODE MIB REPEATS MATRIX_MIB REPORT
//
// NODE: the device's node; if it has CPUs (every machine has such a node), moving is left out. MIB: size of the matrix
// that is moved. MATRIX_MIB: size of the matrix that is in place. REPORT: a file for the figures, as JSON.
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "platform/numa.h"
#include "platform/page_moves.h"
#include "platform/process.h"
#include "platform/threads.h"
#include "platform/worker_pool.h"
#include "residency/in_place/moved_memory.h"
#include "tracking/memory_events.h"

namespace {

using namespace blastoff;
using Json = nlohmann::ordered_json;

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(2);
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void bind_to(const platform::Span& span, int node) {
  const unsigned long mask = 1UL << node;
  if (syscall(SYS_mbind, span.begin, span.bytes(), MPOL_BIND, &mask, 8 * sizeof mask, 0) != 0) die("mbind");
}

/// Memory that begins on a huge page. The destructor unmaps it.
class Memory {
 public:
  Memory(std::size_t bytes, bool huge_pages) : bytes_(bytes + platform::huge_page_size()) {
    mapping_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping_ == MAP_FAILED) die("mmap");
    madvise(mapping_, bytes_, huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    const std::size_t huge = platform::huge_page_size();
    const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(mapping_) + huge - 1) / huge * huge;
    span_ = {begin, begin + bytes};
  }
  ~Memory() { munmap(mapping_, bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  platform::Span span() const { return span_; }
  void touch() const { std::memset(reinterpret_cast<void*>(span_.begin), 1, span_.bytes()); }

 private:
  std::size_t bytes_;
  void* mapping_;
  platform::Span span_;
};

/// Moves all pages by one call. The time to list the pages does not count.
class RawMove {
 public:
  RawMove(platform::Span span, int node) {
    for (auto at = span.begin; at < span.end; at += platform::page_size())
      addresses_.push_back(reinterpret_cast<void*>(at));
    nodes_.assign(addresses_.size(), node);
    statuses_.assign(addresses_.size(), 0);
  }
  void operator()() {
    if (syscall(SYS_move_pages, 0, addresses_.size(), addresses_.data(), nodes_.data(), statuses_.data(),
                MPOL_MF_MOVE) != 0)
      die("move_pages");
  }

 private:
  std::vector<void*> addresses_;
  std::vector<int> nodes_, statuses_;
};

operation::Operand matrix_in(platform::Span span, double share_of_rows = 1) {
  operation::Operand operand;
  operand.element_size = sizeof(double);
  operand.leading_dimension = 4096;
  operand.rows = static_cast<std::int64_t>(share_of_rows * 4096);
  operand.columns = static_cast<std::int64_t>(span.bytes() / (4096 * sizeof(double)));
  operand.address = reinterpret_cast<void*>(span.begin);
  return operand;
}

struct Machine {
  platform::WorkerPool& pool;
  tracking::MemoryEvents* events;
  int node;
};

double move_in_one_call(const Machine& machine, const Memory& memory) {
  RawMove move(memory.span(), machine.node);
  return seconds_of(move);
}

double move_by_two_threads(const Machine& machine, const Memory& memory) {
  const platform::Span span = memory.span();
  const std::uintptr_t middle = span.begin + span.bytes() / 2;
  RawMove first({span.begin, middle}, machine.node), second({middle, span.end}, machine.node);
  return seconds_of([&] {
    std::thread other(std::ref(second));
    first();
    other.join();
  });
}

double move_by_first_use(const Machine& machine, const Memory& memory) {
  residency::in_place::MovedMemory moved(machine.pool, machine.events, machine.node);
  return seconds_of([&] { moved.use(matrix_in(memory.span())); });
}

void check_moved(const Memory& memory, int node) {
  if (platform::bytes_on_node(memory.span(), node) == memory.span().bytes()) return;
  std::printf("not all of it was moved\n");
  std::exit(1);
}

/// A value rounded to a multiple of 1 / parts.
double rounded(double value, double parts) {
  return std::round(value * parts) / parts;
}

/// The fastest repeat counts: on an emulated machine, other work of the host can only slow it down.
Json describe(const char* what, const char* pages, std::size_t bytes, const std::vector<double>& seconds) {
  std::vector<double> rates;
  for (const double time : seconds) rates.push_back(rounded(static_cast<double>(bytes) / time / 1e9, 1e4));
  const double best = *std::max_element(rates.begin(), rates.end());
  std::printf("%s, %s pages: %.3f GB/s (median %.3f)\n", what, pages, best, median(rates));
  return {{"what", what}, {"pages", pages}, {"bytes", bytes}, {"best_gb_per_second", best}, {"gb_per_second", rates}};
}

/// The ways take turns, so that changes on the host affect all of them.
Json moving(const Machine& machine, std::size_t bytes, int repeats, bool huge_pages) {
  constexpr int ways = 5;
  const char* const names[ways] = {"move_pages, one call", "move_pages, two threads", "first use",
                                   "mbind and first touch", "first touch without mbind"};
  std::vector<double> times[ways];
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (int way = 0; way < ways; ++way) {
      const Memory memory(bytes, huge_pages);
      if (way == 3) bind_to(memory.span(), machine.node);
      if (way < 3) memory.touch();
      if (way == 0) times[way].push_back(move_in_one_call(machine, memory));
      if (way == 1) times[way].push_back(move_by_two_threads(machine, memory));
      if (way == 2) times[way].push_back(move_by_first_use(machine, memory));
      if (way >= 3) times[way].push_back(seconds_of([&] { memory.touch(); }));
      if (way < 4) check_moved(memory, machine.node);
    }
  }
  Json entries = Json::array();
  for (int way = 0; way < ways; ++way)
    entries.push_back(describe(names[way], huge_pages ? "huge" : "small", bytes, times[way]));
  return entries;
}

/// Times uses of a matrix in place. `asking` is the first use, which asks the kernel about every page.
Json in_place(const Machine& machine, std::size_t bytes, double share_of_rows) {
  const Memory memory(bytes, false);
  bind_to(memory.span(), machine.node);
  memory.touch();
  residency::in_place::MovedMemory moved(machine.pool, machine.events, machine.node);
  const operation::Operand matrix = matrix_in(memory.span(), share_of_rows);
  const double asking = seconds_of([&] { moved.use(matrix); });
  constexpr int batches = 41, uses = 2000;
  std::vector<double> nanoseconds;
  for (int batch = 0; batch < batches; ++batch) {
    const double time = seconds_of([&] {
      for (int use = 0; use < uses; ++use) moved.use(matrix);
    });
    nanoseconds.push_back(rounded(time / uses * 1e9, 10));
  }
  const char* const what = share_of_rows == 1 ? "a whole matrix" : "all columns of most rows of a matrix";
  const double best = *std::min_element(nanoseconds.begin(), nanoseconds.end());
  std::printf("a use of %s of %zu MiB in place: %.0f ns (median %.0f)\n", what, bytes >> 20, best, median(nanoseconds));
  return {{"what", what},
          {"bytes", bytes},
          {"first_use_seconds", rounded(asking, 1e4)},
          {"best_nanoseconds", best},
          {"median_nanoseconds", median(nanoseconds)}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  platform::remember_cpu_set();
  const int node = std::atoi(argv[1]), repeats = std::atoi(argv[3]);
  const std::size_t bytes = std::strtoull(argv[2], nullptr, 10) << 20;
  const std::size_t matrix_bytes = std::strtoull(argv[4], nullptr, 10) << 20;
  const auto found = platform::numa_node(node);
  if (!found) die("no such node");
  const auto pool = platform::create_worker_pool(platform::cpu_count() - 1);
  auto events = tracking::open_memory_events();
  if (!events) std::printf("no events: %s\n", events.error().c_str());
  const Machine machine{*pool, events ? events->get() : nullptr, node};

  Json report{{"kernel", platform::kernel_release()},
              {"cpus", platform::cpu_count()},
              {"page_bytes", platform::page_size()},
              {"events", machine.events ? machine.events->name() : "none"}};
  report["moving"] = Json::array();
  for (const bool huge_pages : {false, true})
    if (!found->has_cpus)
      for (Json& entry : moving(machine, bytes, repeats, huge_pages)) report["moving"].push_back(std::move(entry));
  report["in_place"] = {in_place(machine, matrix_bytes, 1), in_place(machine, matrix_bytes, 0.875)};
  std::ofstream(argv[5]) << report.dump(1) << "\n";
  std::fflush(stdout);
  std::_Exit(0);  // does not wait for the thread that reads events
}
