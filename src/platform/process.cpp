#include "platform/process.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>

#include "platform/mpi_ranks.h"

namespace blastoff::platform {
namespace {

int first_number(std::span<const char* const> variables) {
  for (const char* variable : variables) {
    const char* text = secure_getenv(variable);
    if (text == nullptr) continue;
    int value = -1;
    const char* end = text + std::strlen(text);
    const auto [rest, error] = std::from_chars(text, end, value);
    if (error == std::errc{} && rest == end && value >= 0) return value;
  }
  return -1;
}

}  // namespace

int local_rank() {
  return first_number(local_rank_variables);
}

int local_size() {
  return std::max(1, first_number(local_size_variables));
}

int global_rank() {
  return first_number(global_rank_variables);
}

int requested_threads() {
  static constexpr const char* variables[] = {"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
                                              "OMP_NUM_THREADS"};
  return std::max(0, first_number(variables));
}

double own_cpu_seconds() {
  timespec spent{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", std::min(line.find(':'), line.size() - 1) + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::string program_name() {
  return program_invocation_short_name;
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

bool has_elevated_rights() {
  return getauxval(AT_SECURE) != 0;
}

std::size_t physical_memory() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::string kernel_release() {
  utsname names{};
  return uname(&names) == 0 ? names.release : "";
}

}  // namespace blastoff::platform
