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
#include <sstream>
#include <string>
#include <string_view>

#include "platform/mpi_ranks.h"

namespace blastoff::platform {
namespace {

/// The word, between apostrophes if a shell would split or change it.
std::string quoted_for_shell(const std::string& word) {
  constexpr std::string_view plain = "%+,-./:=@_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char letter : word) letter == '\'' ? quoted.append("'\"'\"'") : quoted.append(1, letter);
  return quoted.append("'");
}

/// The number in the text; -1 if it is no number.
int number_in(std::string_view text) {
  int value = -1;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && rest == end && value >= 0 ? value : -1;
}

std::string_view value_of(const char* variable) {
  const char* const text = secure_getenv(variable);
  return text == nullptr ? std::string_view{} : text;
}

int number_of(const char* variable) {
  return number_in(value_of(variable));
}

int first_number(std::span<const char* const> variables) {
  const bool in_step = number_of(slurm_step_variable) >= 0;
  for (const char* variable : variables) {
    if (!in_step && std::string_view(variable).starts_with(slurm_prefix)) continue;
    if (const int value = number_of(variable); value >= 0) return value;
  }
  return -1;
}

/// The entry for a node in a list such as "4(x2),3" (four tasks on each of two nodes, then three); -1 if there is none.
int entry_for(std::string_view list, int node) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view entry = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    const std::size_t parenthesis = std::min(entry.find("(x"), entry.size());
    const bool repeated = parenthesis < entry.size();
    if (repeated && !entry.ends_with(')')) return -1;
    const int times = repeated ? number_in(entry.substr(parenthesis + 2, entry.size() - parenthesis - 3)) : 1;
    if (times < 1) return -1;
    if (node < times) return number_in(entry.substr(0, parenthesis));
    node -= times;
  }
  return -1;
}

/// Slurm lists the tasks of all nodes, and tells the number of this node.
int local_size_in_slurm() {
  const int node = number_of("SLURM_NODEID");
  if (number_of(slurm_step_variable) < 0 || node < 0) return -1;
  return entry_for(value_of("SLURM_STEP_TASKS_PER_NODE"), node);
}

/// Flux tells the numbers of tasks and nodes, and spreads the tasks evenly.
int local_size_in_flux() {
  const int tasks = number_of("FLUX_JOB_SIZE");
  const int nodes = number_of("FLUX_JOB_NNODES");
  return tasks < 0 || nodes < 1 ? -1 : (tasks + nodes - 1) / nodes;
}

/// When a process was started, in seconds since the machine was; 0 if that cannot be read. proc(5): field 22, behind
/// the name, which may contain anything.
double start_of(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  constexpr int before = 19;
  std::string field;
  for (int i = 0; i < before; ++i) fields >> field;
  double ticks = 0;
  return fields >> ticks ? ticks / static_cast<double>(sysconf(_SC_CLK_TCK)) : 0;
}

}  // namespace

int local_rank() {
  return first_number(local_rank_variables);
}

int local_size() {
  for (const int size : {first_number(local_size_variables), local_size_in_flux(), local_size_in_slurm()})
    if (size >= 1) return size;
  return 1;
}

int global_rank() {
  return first_number(global_rank_variables);
}

int global_size() {
  return std::max(0, first_number(global_size_variables));
}

int requested_threads() {
  static constexpr const char* variables[] = {"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
                                              "OMP_NUM_THREADS"};
  return std::max(0, first_number(variables));
}

double seconds_started_after(int pid) {
  const double own = start_of("self");
  const double other = start_of(std::to_string(pid));
  return own > 0 && other > 0 ? std::max(0.0, own - other) : 0;
}

std::string requested_kernels() {
  std::string all;
  for (const char* const variable : {"OPENBLAS_CORETYPE", "MKL_ENABLE_INSTRUCTIONS", "BLIS_ARCH_TYPE"})
    if (const char* const text = secure_getenv(variable)) all.append(text).append(1, ',');
  return all;
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

std::vector<std::string> command_words() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

// A program may have written a title of one word over its arguments.
std::string command_line(const std::vector<std::string>& words) {
  if (words.size() == 1) return words.front();
  std::string line;
  for (const std::string& word : words) line.append(line.empty() ? "" : " ").append(quoted_for_shell(word));
  return line;
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
