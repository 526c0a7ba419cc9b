#include "report/counter_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "platform/errno_guard.h"
#include "platform/process.h"
#include "platform/span.h"
#include "report/call_sites.h"
#include "report/counter_layout.h"
#include "report/leftovers.h"
#include "report/output.h"
#include "report/thread_counters.h"

namespace blastoff::report {

namespace {

// Arrays of fixed size, since a forked child may not allocate memory.
using Path = std::array<char, 512>;
constinit std::array<char, 400> directory{};
constinit std::atomic<CounterFileHeader*> own_file{nullptr};
constinit std::atomic<std::uint32_t> attempts{0};  // of creating a file
constinit std::atomic<bool> unusable{false};
constinit std::atomic<bool> beside{false};  // the report, without a launcher

/// Also "" if it would be cut.
Path path_of(const char* name, const char* extension) {
  Path path{};
  const int length = std::snprintf(path.data(), path.size(), "%s/%s%s", directory.data(), name, extension);
  if (length < 0 || static_cast<std::size_t>(length) >= path.size()) path[0] = '\0';
  return path;
}

/// Reserves the bytes, so that a full file system shows now and not as SIGBUS at a write.
bool reserve(int file, std::size_t offset, std::size_t bytes) {
  const NoWriteSignals no_signals;
  int error = EINTR;
  for (int attempt = 0; attempt < 8 && error == EINTR; ++attempt)
    error = posix_fallocate(file, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  return error == 0;
}

void* map(int file, std::size_t offset, std::size_t bytes) {
  if (file < 0 || !reserve(file, offset, bytes)) return nullptr;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset));
  return memory == MAP_FAILED ? nullptr : memory;
}

template <std::size_t size>
void copy_text(std::array<char, size>& to, const char* from) {
  std::memcpy(to.data(), from, strnlen(from, size - 1));
}

/// A child begins with what its parent knows.
void fill(CounterFileHeader& header, const char* name, const CounterFileHeader* parent) {
  header.pid = getpid();
  header.rank = platform::global_rank();
  header.page = static_cast<std::uint32_t>(platform::page_size());
  header.started = boot_nanoseconds();
  copy_text(header.program, program_invocation_short_name);
  copy_text(header.name, name);
  if (parent != nullptr) {
    header.objects = parent->objects.load();
    header.functions = parent->functions.load();
    header.described = parent->described.load();
    header.description = parent->description;
    header.forked = 1;
  }
  header.layout = counter_layout;
  header.magic.store(counter_magic, std::memory_order_release);  // it is complete
}

/// Made by the first thread that needs it; where several do, all but one remove theirs.
CounterFileHeader* create(const CounterFileHeader* parent) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "%d-%llu-%u", static_cast<int>(getpid()),
                static_cast<unsigned long long>(boot_nanoseconds()), attempts.fetch_add(1));
  const Path path = path_of(name.data(), counter_extension);
  if (path[0] == '\0') return nullptr;
  Output file(open(path.data(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return nullptr;
  void* const memory = map(file.get(), 0, platform::page_size());
  file.close();
  if (memory == nullptr) {
    unlink(path.data());
    return nullptr;
  }
  auto* const header = new (memory) CounterFileHeader;
  fill(*header, name.data(), parent);
  CounterFileHeader* none = nullptr;
  if (own_file.compare_exchange_strong(none, header)) return header;
  unlink(path.data());
  munmap(memory, platform::page_size());
  return none;
}

constinit std::atomic<const CounterFileHeader*> parents_file{nullptr};

/// The file of this process, made if need be.
CounterFileHeader* this_file() {
  if (directory[0] == '\0' || unusable.load(std::memory_order_relaxed)) return nullptr;
  CounterFileHeader* header = own_file.load(std::memory_order_acquire);
  if (header == nullptr) header = create(parents_file.load());
  if (header == nullptr) unusable = true;
  return header;
}

bool write_file(const char* path, const std::string& text) {
  const NoWriteSignals no_signals;
  Output file(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  return file.valid() && file.write(text) && file.close();
}

}  // namespace

std::uint64_t boot_nanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

void keep_counters_in(const char* path) {
  const platform::ErrnoGuard errno_stays;
  if (path == nullptr || *path != '/' || std::strlen(path) >= directory.size()) return;
  copy_text(directory, path);
  this_file();
}

void keep_counters_beside(const std::string& report) {
  const platform::ErrnoGuard errno_stays;
  if (directory[0] != '\0') return;
  const std::string path = report + counters_beside;
  if (path.size() >= directory.size() || !make_private_directory(path)) return;
  if (keeps_removed_files(path)) {
    remove_if_left(path);
    copy_text(directory, path.c_str());
    beside = true;
    if (this_file() != nullptr) return;
  }
  rmdir(path.c_str());
  beside = false;
  directory[0] = '\0';
}

void drop_counters_beside() {
  const platform::ErrnoGuard errno_stays;
  const CounterFileHeader* const header = own_file.load();
  if (!beside || header == nullptr) return;
  for (const char* const extension : {call_site_extension, description_extension, counter_extension})
    unlink(path_of(header->name.data(), extension).data());
  rmdir(directory.data());  // fails while others have files there
}

bool counters_are_kept() {
  const CounterFileHeader* const header = own_file.load(std::memory_order_acquire);
  return header != nullptr && header->incomplete.load(std::memory_order_relaxed) == 0;
}

bool run_goes_on() {
  const platform::ErrnoGuard errno_stays;
  return counters_are_kept() && !beside &&
         access(path_of(own_file.load()->name.data(), counter_extension).data(), F_OK) == 0;
}

void keep_interceptors(const Interceptors& interceptors) {
  if (CounterFileHeader* const header = own_file.load()) {
    header->objects = interceptors.objects;
    header->functions = interceptors.functions;
  }
}

platform::MemoryGauge& memory_gauge() {
  static constinit platform::MemoryGauge of_this_process{};
  CounterFileHeader* const header = own_file.load();
  return header != nullptr ? header->memory : of_this_process;
}

const char* run_directory() {
  return beside ? "" : directory.data();
}

// Written under another name first: a reader meets it complete or not at all. That name is another one each time, since
// several threads may describe the process at once.
void keep_description(const std::string& report) {
  const platform::ErrnoGuard errno_stays;
  CounterFileHeader* const header = this_file();
  if (header == nullptr) return;
  const Path path = path_of(header->name.data(), description_extension);
  static constinit std::atomic<unsigned> descriptions{0};
  std::array<char, 24> extension{};
  std::snprintf(extension.data(), extension.size(), ".%u.tmp", descriptions.fetch_add(1));
  const Path unfinished = path_of(header->name.data(), extension.data());
  if (!write_file(unfinished.data(), report) || rename(unfinished.data(), path.data()) != 0) {
    unlink(unfinished.data());
    header->incomplete = 1;
    return;
  }
  header->description = header->name;
  header->described.store(1, std::memory_order_release);
}

void keep_end() {
  CounterFileHeader* const header = own_file.load();
  if (header == nullptr) return;
  header->ended_at = boot_nanoseconds();
  header->ended.store(1, std::memory_order_release);
}

void* space_in_counter_file() {
  const platform::ErrnoGuard errno_stays;
  CounterFileHeader* const header = this_file();
  if (header == nullptr) return nullptr;
  const std::size_t bytes = counter_block_bytes(header->page);
  const std::size_t offset = header->page + header->blocks.fetch_add(1) * bytes;
  const Output file(open(path_of(header->name.data(), counter_extension).data(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  void* const memory = map(file.get(), offset, bytes);
  if (memory == nullptr) header->incomplete = 1;
  return memory;
}

void* space_beside_counters(const char* extension, std::size_t bytes) {
  const platform::ErrnoGuard errno_stays;
  const CounterFileHeader* const header = this_file();
  if (header == nullptr) return nullptr;
  const Path path = path_of(header->name.data(), extension);
  const Output file(open(path.data(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  void* const memory = map(file.get(), 0, bytes);
  if (memory == nullptr && file.valid()) unlink(path.data());
  return memory;
}

bool leave_counter_file() {
  const CounterFileHeader* const parent = own_file.exchange(nullptr);
  if (parent != nullptr) parents_file = parent;
  return parent != nullptr;
}

}  // namespace blastoff::report
