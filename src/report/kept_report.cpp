// Reading the counter file of a process, be it alive or not.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "operation/front_end.h"
#include "platform/descriptor.h"
#include "platform/span.h"
#include "report/counter_file.h"
#include "report/counter_layout.h"
#include "report/json.h"
#include "report/leftovers.h"

namespace blastoff::report {

namespace {

/// The file, in memory and read only; empty where it cannot be read. It never becomes shorter while it is mapped.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const platform::Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) return;
    const auto bytes = static_cast<std::size_t>(status.st_size);
    void* const memory = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) return;
    memory_ = static_cast<std::byte*>(memory);
    bytes_ = bytes;
  }
  ~MappedFile() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::size_t bytes() const { return bytes_; }
  template <class Part>
  const Part* at(std::size_t offset) const {
    return reinterpret_cast<const Part*>(memory_ + offset);
  }

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

const CounterFileHeader* header_of(const MappedFile& file) {
  if (file.bytes() < sizeof(CounterFileHeader)) return nullptr;
  const auto* const header = file.at<CounterFileHeader>(0);
  const bool complete = header->magic.load(std::memory_order_acquire) == counter_magic;
  return complete && header->layout == counter_layout && header->page > 0 ? header : nullptr;
}

Totals totals_of(const MappedFile& file, const CounterFileHeader& header) {
  Totals totals;
  totals.routines.resize(operation::routine_count());
  const std::size_t bytes = counter_block_bytes(header.page);
  for (std::size_t offset = header.page; offset + bytes <= file.bytes(); offset += bytes)
    file.at<ThreadCounters>(offset)->add_to(totals);
  return totals;
}

/// When a process that has been killed was there for the last time, as far as its counters tell.
std::uint64_t last_count_of(const MappedFile& file, const CounterFileHeader& header) {
  std::uint64_t last = header.started;
  const std::size_t bytes = counter_block_bytes(header.page);
  for (std::size_t offset = header.page; offset + bytes <= file.bytes(); offset += bytes)
    last = std::max(last, file.at<ThreadCounters>(offset)->last_count.get());
  return last;
}

std::string text_of(const std::array<char, 64>& text) {
  return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

/// Another file of the run.
std::string beside(const std::string& path, const std::string& name, const char* extension) {
  return path.substr(0, path.rfind('/') + 1) + name + extension;
}

/// What the process has written beside its counters.
std::string description_of(const std::string& path, const CounterFileHeader& header) {
  if (header.described.load(std::memory_order_acquire) == 0) return "";
  std::ifstream file(beside(path, text_of(header.description), description_extension), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
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
  const MappedFile file(path);
  const CounterFileHeader* const header = header_of(file);
  if (header == nullptr) return "";
  const bool ended = header->ended.load(std::memory_order_acquire) != 0;
  const std::uint64_t until = ended                                         ? header->ended_at.load()
                              : is_of_living_process(text_of(header->name)) ? boot_nanoseconds()
                                                                            : last_count_of(file, *header);
  const Kept kept{.pid = header->pid,
                  .rank = header->rank,
                  .forked = header->forked != 0,
                  .ended = ended,
                  .incomplete = header->incomplete.load() != 0,
                  .program = text_of(header->program),
                  .elapsed_seconds = 1e-9 * static_cast<double>(until - header->started),
                  .device_memory = header->memory.device.load(),
                  .objects = header->objects.load(),
                  .functions = header->functions.load(),
                  .call_sites = call_sites_of_file(beside(path, text_of(header->name), call_site_extension))};
  return to_json(totals_of(file, *header), kept, description_of(path, *header));
}

}  // namespace blastoff::report
