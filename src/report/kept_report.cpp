// Reads the counter file of a process that runs or has ended.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "operation/front_end.h"
#include "platform/descriptor.h"
#include "platform/span.h"
#include "report/counter_file.h"
#include "report/counter_layout.h"
#include "report/json.h"
#include "report/leftovers.h"
#include "report/run_space.h"

namespace blastoff::report {

namespace {

/// A copy of the file as it is now; empty if it cannot be read. The file is not mapped: reading a page that was never
/// written would take a page of the file system, or, if there is none, end this process.
class ReadFile {
 public:
  explicit ReadFile(const std::string& path) {
    const platform::Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) return;
    memory_.resize(static_cast<std::size_t>(status.st_size));
    const ssize_t length = pread(file.get(), memory_.data(), memory_.size(), 0);
    memory_.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  }

  std::size_t bytes() const { return memory_.size(); }
  template <class Part>
  const Part* at(std::size_t offset) const {
    return reinterpret_cast<const Part*>(memory_.data() + offset);
  }

 private:
  std::vector<std::byte> memory_;
};

const CounterFileHeader* header_of(const ReadFile& file) {
  if (file.bytes() < sizeof(CounterFileHeader)) return nullptr;
  const auto* const header = file.at<CounterFileHeader>(0);
  const bool complete = header->magic.load(std::memory_order_acquire) == counter_magic;
  return complete && header->layout == counter_layout && header->page > 0 ? header : nullptr;
}

/// Visits the counters of all threads, in both files of a process.
template <class Action>
void each_block(const ReadFile& file, const ReadFile& more, const CounterFileHeader& header, const Action& action) {
  const std::size_t bytes = counter_block_bytes(header.page);
  for (std::size_t offset = header.page; offset + bytes <= file.bytes(); offset += bytes)
    action(*file.at<ThreadCounters>(offset));
  for (std::size_t offset = 0; offset + bytes <= more.bytes(); offset += bytes)
    action(*more.at<ThreadCounters>(offset));
}

template <std::size_t size>
std::string text_of(const std::array<char, size>& text) {
  return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

/// Path of another file of the process, beside its counters or on disk.
std::string beside(const std::string& path, const char* extension, bool disk) {
  const std::size_t name = path.rfind('/') + 1;
  return path.substr(0, name) + (disk ? std::string(on_disk) + "/" : "") + path.substr(name, path.rfind('.') - name) +
         extension;
}

/// The description that the process has written beside its counters.
std::string description_of(const std::string& path, const CounterFileHeader& header) {
  if (header.described.load(std::memory_order_acquire) == 0) return "";
  std::ifstream file(beside(path, description_extension, true), std::ios::binary);
  if (!file) file.open(beside(path, description_extension, false), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<CallSite> call_sites_of(const std::string& path) {
  std::vector<CallSite> sites = call_sites_of_file(beside(path, call_site_extension, false));
  std::ranges::move(call_sites_of_file(beside(path, call_site_extension, true)), std::back_inserter(sites));
  return sites;
}

}  // namespace

std::optional<KeptMemory> memory_of_counter_file(int file) {
  CounterFileHeader header{};
  if (pread(file, &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header)) return std::nullopt;
  if (header.magic.load() != counter_magic || header.layout != counter_layout) return std::nullopt;
  const platform::MemoryGauge& memory = header.memory;
  return KeptMemory{memory.device, memory.mirrored, memory.pinned, memory.staged, memory.to_device, memory.from_device};
}

std::string report_of_counter_file(const std::string& path) {
  const ReadFile file(path);
  const CounterFileHeader* const header = header_of(file);
  if (header == nullptr) return "";
  const ReadFile more(beside(path, more_counters_extension, true));
  Totals totals;
  totals.routines.resize(operation::routine_count());
  std::uint64_t last_count = header->started;
  each_block(file, more, *header, [&](const ThreadCounters& counters) {
    counters.add_to(totals);
    last_count = std::max(last_count, counters.last_count.get());
  });
  const bool ended = header->ended.load(std::memory_order_acquire) != 0;
  // The last sign of life of a process that has been killed is its last call that the counters hold.
  const std::uint64_t until = ended                                         ? header->ended_at.load()
                              : is_of_living_process(text_of(header->name)) ? boot_nanoseconds()
                                                                            : last_count;
  const Kept kept{.pid = header->pid,
                  .rank = header->rank,
                  .forked = header->forked != 0,
                  .ended = ended,
                  .incomplete = header->incomplete.load(),
                  .run = text_of(header->run),
                  .program = text_of(header->program),
                  .elapsed_seconds = 1e-9 * static_cast<double>(until - header->started),
                  .device_memory = header->memory.device.load(),
                  .results = fate_of(header->results),
                  .objects = header->objects.load(),
                  .functions = header->functions.load(),
                  .call_sites = call_sites_of(path)};
  return to_json(totals, kept, description_of(path, *header));
}

}  // namespace blastoff::report
