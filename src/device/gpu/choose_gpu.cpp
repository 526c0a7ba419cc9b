#include "device/gpu/choose_gpu.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "platform/pci.h"
#include "platform/peers.h"

namespace blastoff::device::gpu {
namespace {

constexpr std::size_t max_to_reserve = std::size_t{1} << 40;

std::string name_of(const Driver& driver, int gpu) {
  char name[256] = "";
  if (driver.name(name, sizeof name, gpu) != success) return "unknown GPU";
  return name;
}

/// The N of "cuda:N"; nullopt for "cuda", and -1 if N is no number.
std::optional<int> requested_ordinal(std::string_view name) {
  const auto colon = name.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto number = name.substr(colon + 1);
  int ordinal = -1;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), ordinal);
  return error == std::errc{} && end == number.data() + number.size() ? ordinal : -1;
}

std::string list_gpus(const Driver& driver, int count) {
  std::string list;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    list += fmt::format("{}{}:{} ({})", ordinal == 0 ? "" : ", ", driver.kind, ordinal, name_of(driver, ordinal));
  }
  return list;
}

Error unavailable(std::string message) {
  return {ErrorKind::unavailable, std::move(message)};
}

/// "0000:17:00.0", as the kernel writes it; the kind and the number if the driver does not tell.
std::string bus_name(const Driver& driver, int gpu) {
  char name[32] = "";
  if (driver.bus_name(name, sizeof name, gpu) != success) return fmt::format("{}{}", driver.kind, gpu);
  std::string text = name;
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

/// The GPUs that are near most of the process's CPUs. All GPUs if the process is not bound to CPUs, or if nobody knows
/// what is near.
std::vector<int> nearest(const Driver& driver, int count) {
  std::vector<int> found;
  int most = -1;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    const int near = platform::own_cpus_near(bus_name(driver, ordinal)).value_or(0);
    if (near > most) found.clear();
    if (near >= most) found.push_back(ordinal);
    most = std::max(most, near);
  }
  return found;
}

/// Chooses the GPU if the user names none. On a coherent machine the allocator has already chosen, by the rank alone,
/// so the choice here is the same.
int choose_for_process(const Driver& driver, const Choice& choice, int count) {
  const int rank = std::max(0, choice.local_rank);
  if (count == 1 || driver.uses_host_page_tables(0)) return rank % count;
  const std::vector<int> candidates = nearest(driver, count);
  std::vector<std::string> names;
  names.reserve(candidates.size());
  for (const int ordinal : candidates) names.push_back(bus_name(driver, ordinal));
  return candidates[platform::Peers(choice.run_directory).choose(names, static_cast<std::size_t>(rank) % names.size())];
}

/// Number of processes that use the GPU now, or that will when all ranks have come. If each rank may have GPUs of its
/// own, only the processes that use it now are known.
int count_sharers(const Driver& driver, const Choice& choice, int ordinal) {
  const int now = platform::Peers(choice.run_directory).users(bus_name(driver, ordinal)) + 1;
  int count = 1;
  if (secure_getenv(driver.visible_variable) != nullptr || driver.count(&count) != success) return now;
  const int per_gpu = choice.name.find(':') == std::string::npos ? (choice.local_size + count - 1) / count : 1;
  return std::max(now, per_gpu);
}

}  // namespace

Error explain_no_context(const Driver& driver, int gpu, const Error& error) {
  const std::string closed = driver.closed(gpu);
  if (closed.empty() || error.kind != ErrorKind::unavailable) return error;
  return unavailable(fmt::format("{}:{} ({}): {}; {}", driver.kind, gpu, name_of(driver, gpu), closed, error.message));
}

Result<int> choose_gpu(const Driver& driver, const Choice& choice) {
  const auto counted = driver.start();
  if (!counted) return tl::unexpected(counted.error());
  const int count = *counted;
  const auto requested = requested_ordinal(choice.name);
  if (requested && (*requested < 0 || *requested >= count))
    return tl::unexpected(unavailable(fmt::format("no GPU {}; there is {}", choice.name, list_gpus(driver, count))));
  const int ordinal = requested ? *requested : choose_for_process(driver, choice, count);
  platform::Peers(choice.run_directory).enter(bus_name(driver, ordinal));
  int gpu = 0;
  if (driver.find(&gpu, ordinal) != success) {
    return tl::unexpected(unavailable(fmt::format("GPU {}:{} does not answer", driver.kind, ordinal)));
  }
  if (const std::string reason = driver.too_old(gpu); !reason.empty())
    return tl::unexpected(
        unavailable(fmt::format("{}:{} ({}) {}", driver.kind, ordinal, name_of(driver, gpu), reason)));
  return ordinal;
}

std::size_t probe_largest_reservation(const Driver& driver, std::size_t granularity) {
  for (std::size_t bytes = max_to_reserve; bytes >= granularity; bytes /= 2) {
    Address address = 0;
    if (driver.reserve(&address, bytes, granularity, 0, 0) != success) continue;
    driver.release(address, bytes);
    return bytes;
  }
  return 0;
}

Gpu inspect(Context& context, const Choice& choice, int ordinal) {
  const Driver& driver = context.driver();
  Gpu found;
  Properties& properties = found.properties;
  properties.kind = driver.kind;
  properties.name = name_of(driver, context.gpu());
  properties.index = ordinal;
  properties.bus = bus_name(driver, context.gpu());
  properties.sharers = count_sharers(driver, choice, ordinal);
  driver.inspect(driver, context.gpu(), choice, found);
  return found;
}

}  // namespace blastoff::device::gpu
