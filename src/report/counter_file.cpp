#include "report/counter_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "platform/confinement.h"
#include "platform/errno_guard.h"
#include "platform/process.h"
#include "platform/span.h"
#include "report/call_sites.h"
#include "report/counter_layout.h"
#include "report/file.h"
#include "report/leftovers.h"
#include "report/output.h"
#include "report/run_space.h"
#include "report/thread_counters.h"

namespace blastoff::report {

namespace {

// Arrays of fixed size, since a forked child may not allocate memory.
using Path = std::array<char, 512>;
constinit std::array<char, 400> directory{};
constinit std::atomic<bool> placed{false};  // the directory is complete, for all threads
constinit std::atomic<CounterFileHeader*> own_file{nullptr};
constinit std::atomic<std::uint32_t> attempts{0};  // number of attempts to create a file
constinit std::atomic<bool> unusable{false};
constinit std::atomic<bool> beside{false};  // the counters lie beside the report, without a launcher

template <std::size_t size>
void copy_text(std::array<char, size>& to, const char* from) {
  std::memcpy(to.data(), from, strnlen(from, size - 1));
}

/// Path in the run's directory, or in the one on disk; "" if it is too long.
Path path_of(const char* name, const char* extension, bool disk) {
  Path path{};
  const int length = std::snprintf(path.data(), path.size(), "%s/%s%s%s%s", directory.data(), disk ? on_disk : "",
                                   disk ? "/" : "", name, extension);
  if (length < 0 || static_cast<std::size_t>(length) >= path.size()) path[0] = '\0';
  return path;
}

/// The directory. The one on disk counts only if mapped files stay usable there after they are removed.
Path place(bool disk) {
  Path path = disk ? path_of("", "", true) : Path{};
  if (!disk) copy_text(path, directory.data());
  if (disk && !keeps_removed_files(path.data())) path[0] = '\0';
  return path;
}

/// Reserves the bytes, so that a full file system shows as an error now, and not as SIGBUS at a write.
bool reserve(int file, std::size_t offset, std::size_t bytes) {
  const NoWriteSignals no_signals;
  int error = EINTR;
  for (int attempt = 0; attempt < 8 && error == EINTR; ++attempt)
    error = posix_fallocate(file, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  return error == 0;
}

/// Extends the file with zeros at that place and maps them; nullptr if there is no room.
void* map(int file, std::size_t offset, std::size_t bytes) {
  if (file < 0 || !reserve(file, offset, bytes)) return nullptr;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset));
  return memory == MAP_FAILED ? nullptr : memory;
}

/// Memory in a file of the run. Makes the file if it is not there. nullptr if there is no room. `offset(end)`: where in
/// the file, whose end is given. It is called only if there is room.
template <class Offset>
void* space_in(const char* name, const char* extension, bool disk, const Offset& offset, std::size_t bytes) {
  const Path whole = path_of(name, extension, disk);
  const Path folder = place(disk);
  if (whole[0] == '\0' || folder[0] == '\0' || !take_space(folder.data(), bytes)) return nullptr;
  const Output file(open(whole.data(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  struct stat status {};
  const bool there = file.valid() && fstat(file.get(), &status) == 0;
  const std::size_t end = in_pages(static_cast<std::size_t>(status.st_size), platform::page_size());
  void* const memory = there ? map(file.get(), offset(end), bytes) : nullptr;
  if (memory == nullptr) return_space(folder.data(), bytes);
  if (memory == nullptr && there && status.st_size == 0) unlink(whole.data());
  return memory;
}

std::size_t at_end(std::size_t end) {
  return end;
}

/// For space_in(): behind `before` bytes and the blocks that are there already.
auto behind_blocks(std::size_t before, std::atomic<std::uint32_t>& blocks, std::size_t bytes) {
  return [=, &blocks](std::size_t) { return before + blocks.fetch_add(1) * bytes; };
}

/// Returns what was missing when there was no room: an errno.
int lack() {
  const Output root(open("/", O_PATH | O_CLOEXEC));
  if (!root.valid() && (errno == EMFILE || errno == ENFILE)) return errno;
  constexpr rlim_t largest_file = 1U << 20U;  // about as much as a run's counters take
  struct rlimit files {};
  return getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur < largest_file ? EFBIG : ENOSPC;
}

/// A child uses its parent's description until it writes one itself.
bool share_description(const CounterFileHeader& header, const CounterFileHeader& parent) {
  if (parent.described.load(std::memory_order_acquire) == 0) return false;
  for (const bool disk : {true, false}) {
    const Path from = path_of(parent.name.data(), description_extension, disk);
    if (link(from.data(), path_of(header.name.data(), description_extension, disk).data()) == 0) return true;
  }
  return false;
}

/// `parent`: for a child, whose header begins with what its parent knows.
void fill(CounterFileHeader& header, const char* name, bool disk, const CounterFileHeader* parent) {
  header.pid = getpid();
  header.rank = platform::global_rank();
  header.page = static_cast<std::uint32_t>(platform::page_size());
  header.on_disk = disk ? 1 : 0;
  header.started = boot_nanoseconds();
  copy_text(header.program, program_invocation_short_name);
  copy_text(header.name, name);
  copy_text(header.run, this_run());
  if (parent != nullptr) {
    header.objects = parent->objects.load();
    header.functions = parent->functions.load();
    header.described = share_description(header, *parent) ? 1 : 0;
    header.forked = 1;
  }
  header.layout = counter_layout;
  header.magic.store(counter_magic, std::memory_order_release);  // the header is complete
}

/// Creates the file of this process. If several threads do so at once, all but one remove theirs.
CounterFileHeader* create(const CounterFileHeader* parent) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "%d-%llu-%u-%llu", static_cast<int>(getpid()),
                static_cast<unsigned long long>(boot_nanoseconds()), attempts.fetch_add(1),
                static_cast<unsigned long long>(platform::pid_namespace()));
  const std::size_t bytes = platform::page_size();
  bool disk = false;
  void* memory = space_in(name.data(), counter_extension, disk, at_end, bytes);
  if (memory == nullptr) memory = space_in(name.data(), counter_extension, disk = true, at_end, bytes);
  if (memory == nullptr) return nullptr;
  auto* const header = new (memory) CounterFileHeader;
  fill(*header, name.data(), disk, parent);
  CounterFileHeader* none = nullptr;
  if (own_file.compare_exchange_strong(none, header)) return header;
  unlink(path_of(name.data(), counter_extension, disk).data());
  for (const bool either : {true, false}) unlink(path_of(name.data(), description_extension, either).data());
  return_space(place(disk).data(), bytes);
  munmap(memory, bytes);
  return none;
}

constinit std::atomic<const CounterFileHeader*> parents_file{nullptr};

/// The file of this process; creates it if it is not there.
CounterFileHeader* this_file() {
  if (!placed.load(std::memory_order_acquire) || unusable.load(std::memory_order_relaxed)) return nullptr;
  if (platform::confined()) return nullptr;
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

/// Writes the description under another name first, so that a reader never finds half of it. That name differs each
/// time, since several threads may describe the process at once. `before`: bytes of the description that it replaces.
bool describe(const char* name, const std::string& report, bool disk, std::size_t before) {
  const std::size_t bytes = in_pages(report.size(), platform::page_size());
  const std::size_t more = bytes - std::min(bytes, in_pages(before, platform::page_size()));
  const Path folder = place(disk);
  if (folder[0] == '\0' || !take_space(folder.data(), more)) return false;
  static constinit std::atomic<unsigned> descriptions{0};
  std::array<char, 24> extension{};
  std::snprintf(extension.data(), extension.size(), ".%u.tmp", descriptions.fetch_add(1));
  const Path path = path_of(name, description_extension, disk);
  const Path unfinished = path_of(name, extension.data(), disk);
  if (write_file(unfinished.data(), report) && rename(unfinished.data(), path.data()) == 0) return true;
  unlink(unfinished.data());
  return_space(folder.data(), more);
  return false;
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
  placed = true;
  this_file();
}

void keep_counters_beside(const std::string& report) {
  const platform::ErrnoGuard errno_stays;
  if (placed) return;
  const std::string path = report + counters_beside;
  if (path.size() >= directory.size() || !make_private_directory(path)) return;
  if (keeps_removed_files(path.c_str())) {
    remove_if_left(path);
    copy_text(directory, path.c_str());
    beside = true;
    placed = true;
    if (this_file() != nullptr) return;
  }
  rmdir(path.c_str());
  placed = false;
  beside = false;
}

void drop_counters_beside() {
  const platform::ErrnoGuard errno_stays;
  const CounterFileHeader* const header = own_file.load();
  if (!beside || header == nullptr) return;
  remove_counter_file(path_of(header->name.data(), counter_extension, false).data());
  rmdir(directory.data());  // fails while others have files there
}

bool counters_are_kept() {
  const CounterFileHeader* const header = own_file.load(std::memory_order_acquire);
  return header != nullptr && header->incomplete.load(std::memory_order_relaxed) == 0;
}

bool run_goes_on() {
  const platform::ErrnoGuard errno_stays;
  if (!counters_are_kept() || beside) return false;
  const CounterFileHeader& header = *own_file.load();
  return access(path_of(header.name.data(), counter_extension, header.on_disk != 0).data(), F_OK) == 0;
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

platform::ResultsGauge& results_gauge() {
  static constinit platform::ResultsGauge of_this_process{};
  CounterFileHeader* const header = own_file.load();
  return header != nullptr ? header->results : of_this_process;
}

const char* run_directory() {
  return placed && !beside ? directory.data() : "";
}

void keep_description(const std::string& report) {
  const platform::ErrnoGuard errno_stays;
  CounterFileHeader* const header = this_file();
  if (header == nullptr) return;
  const std::size_t before = header->described.load();
  if (!describe(header->name.data(), report, true, before) && !describe(header->name.data(), report, false, before)) {
    header->incomplete = lack();
    return;
  }
  header->described.store(static_cast<std::uint32_t>(report.size()), std::memory_order_release);
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
  const char* const name = header->name.data();
  const bool disk = header->on_disk != 0;
  void* memory = space_in(name, counter_extension, disk, behind_blocks(header->page, header->blocks, bytes), bytes);
  if (memory == nullptr && !disk)
    memory = space_in(name, more_counters_extension, true, behind_blocks(0, header->more_blocks, bytes), bytes);
  if (memory == nullptr) header->incomplete = lack();
  return memory;
}

void* space_beside_counters(const char* extension, std::size_t bytes) {
  const platform::ErrnoGuard errno_stays;
  const CounterFileHeader* const header = this_file();
  if (header == nullptr) return nullptr;
  const std::size_t whole = in_pages(bytes, header->page);
  void* const memory = header->on_disk == 0 ? space_in(header->name.data(), extension, false, at_end, whole) : nullptr;
  return memory != nullptr ? memory : space_in(header->name.data(), extension, true, at_end, whole);
}

bool leave_counter_file() {
  const CounterFileHeader* const parent = own_file.exchange(nullptr);
  if (parent != nullptr) parents_file = parent;
  return parent != nullptr;
}

void remove_counter_file(const std::string& path) {
  const std::filesystem::path file(path);
  const std::filesystem::path folder = file.parent_path();
  std::size_t bytes = 0;
  for (const bool disk : {false, true}) {
    for (const char* const extension :
         {call_site_extension, more_counters_extension, description_extension, counter_extension}) {
      const std::filesystem::path part = (disk ? folder / on_disk : folder) / file.stem().concat(extension);
      struct stat status {};
      if (lstat(part.c_str(), &status) != 0 || unlink(part.c_str()) != 0 || disk || status.st_nlink > 1) continue;
      bytes += in_pages(static_cast<std::size_t>(status.st_size), platform::page_size());
    }
  }
  if (bytes > 0) return_space(folder.c_str(), bytes);
}

}  // namespace blastoff::report
