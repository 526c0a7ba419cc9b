// Substitutes for functions that the C library got after the oldest supported version. Used if the process's C library
// lacks them.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>
#include <iterator>

#include "entrance/entrance.h"

/// From glibc 2.32. If it is true, the C++ library omits atomic operations.
#pragma GCC visibility push(hidden)
extern "C" {
char __libc_single_threaded = 0;
}
#pragma GCC visibility pop

namespace {

/// From glibc 2.30.
pid_t thread_id() {
  return static_cast<pid_t>(syscall(SYS_gettid));
}

/// From glibc 2.33; before that, these functions were compiled into each program.
int status_at(int directory, const char* path, struct stat* status, int flags) {
  return static_cast<int>(syscall(SYS_newfstatat, directory, path, status, flags));
}

int status_of_path(const char* path, struct stat* status) {
  return status_at(AT_FDCWD, path, status, 0);
}

int status_of_link(const char* path, struct stat* status) {
  return status_at(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

int status_of_descriptor(int descriptor, struct stat* status) {
  return static_cast<int>(syscall(SYS_fstat, descriptor, status));
}

constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * nanoseconds_per_second + time.tv_nsec;
}

std::int64_t now_by(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return nanoseconds(now);
}

/// From glibc 2.30. Waits by CLOCK_REALTIME, which pthread_cond_timedwait() uses. If somebody sets that clock in the
/// meantime, the wait takes a different time.
int wait_by_clock(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  const std::int64_t end = now_by(CLOCK_REALTIME) + (nanoseconds(*until) - now_by(clock));
  const timespec by_realtime{end / nanoseconds_per_second, end % nanoseconds_per_second};
  return pthread_cond_timedwait(condition, mutex, &by_realtime);
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE  // otherwise nobody refers to it
struct Search {
  std::uintptr_t address;
  dl_find_object* result;
};

int note_if_it_contains(dl_phdr_info* object, std::size_t, void* data) {
  const auto& search = *static_cast<Search*>(data);
  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
  void* frames = nullptr;
  bool contains = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const std::uintptr_t first = object->dlpi_addr + segment.p_vaddr;
    const std::uintptr_t last = first + segment.p_memsz;
    if (segment.p_type == PT_GNU_EH_FRAME) frames = reinterpret_cast<void*>(first);
    if (segment.p_type != PT_LOAD) continue;
    begin = first < begin ? first : begin;
    end = last > end ? last : end;
    contains = contains || (first <= search.address && search.address < last);
  }
  if (!contains || frames == nullptr) return 0;
  *search.result = {};
  search.result->dlfo_map_start = reinterpret_cast<void*>(begin);
  search.result->dlfo_map_end = reinterpret_cast<void*>(end);
  search.result->dlfo_eh_frame = frames;
  return 1;
}

/// From glibc 2.35, for the unwinder, which uses nothing else of it. (Call sites are found only by the C library's own
/// function, because this one takes a lock of the dynamic linker.)
int find_object(void* address, dl_find_object* result) {
  Search search{reinterpret_cast<std::uintptr_t>(address), result};
  return dl_iterate_phdr(note_if_it_contains, &search) == 1 ? 0 : -1;
}
#endif

/// From glibc 2.36.
std::uint32_t random_number() {
  std::uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
  }
  return number;
}

}  // namespace

extern "C" {
const blastoff::entrance::LaterFunction blastoff_later_functions[] = {
    {"gettid", reinterpret_cast<void*>(&thread_id)},
    {"pthread_cond_clockwait", reinterpret_cast<void*>(&wait_by_clock)},
    {"fstatat", reinterpret_cast<void*>(&status_at)},
    {"fstatat64", reinterpret_cast<void*>(&status_at)},
    {"stat", reinterpret_cast<void*>(&status_of_path)},
    {"stat64", reinterpret_cast<void*>(&status_of_path)},
    {"lstat", reinterpret_cast<void*>(&status_of_link)},
    {"lstat64", reinterpret_cast<void*>(&status_of_link)},
    {"fstat", reinterpret_cast<void*>(&status_of_descriptor)},
    {"fstat64", reinterpret_cast<void*>(&status_of_descriptor)},
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    {"_dl_find_object", reinterpret_cast<void*>(&find_object)},
#endif
    {"arc4random", reinterpret_cast<void*>(&random_number)},
};
const std::size_t blastoff_later_function_count = std::size(blastoff_later_functions);
}
