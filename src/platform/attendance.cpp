#include "platform/attendance.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "platform/descriptor.h"
#include "platform/process.h"

namespace blastoff::platform {
namespace {

bool may_be_known(const Rank& rank) {
  return rank.rank >= 0 && rank.ranks > 1 && rank.local_ranks == rank.ranks && !rank.run.empty();
}

Descriptor new_socket() {
  return Descriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

/// Calls act(address, length) with the name of a rank. A run may have several jobs.
template <class Act>
int with_name(const Rank& of, int rank, const std::string& likeness, const Act& act) {
  const char* const job = secure_getenv("PMIX_NAMESPACE");
  const std::size_t hash = std::hash<std::string>()(of.run + '\n' + (job != nullptr ? job : "") + '\n' + likeness);
  const std::string name = "blastoff-rank-" + std::to_string(getuid()) + "-" + std::to_string(rank) + "-" +
                           std::to_string(of.ranks) + "-" + std::to_string(hash);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return act(reinterpret_cast<const sockaddr*>(&address),
             static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size()));
}

}  // namespace

Rank Rank::of_this_process(const char* run) {
  return {.rank = global_rank(), .ranks = global_size(), .local_ranks = local_size(), .run = run != nullptr ? run : ""};
}

// A child that is started in this process's place, or beside it, takes the name then, or finds it taken.
void attend(const Rank& rank, const std::string& likeness) {
  if (!may_be_known(rank)) return;
  Descriptor own = out_of_the_way(new_socket());
  const int held = with_name(rank, rank.rank, likeness, [&](const sockaddr* address, socklen_t length) {
    return bind(own.get(), address, length);
  });
  if (held == 0) own.forget();  // it ends with the process
}

Attendance attendance(const Rank& rank, const std::string& likeness) {
  if (!may_be_known(rank)) return Attendance::unknown;
  for (int other = 0; other < rank.ranks; ++other) {
    const Descriptor asking = new_socket();
    if (!asking) return Attendance::unknown;
    const int found = with_name(rank, other, likeness, [&](const sockaddr* address, socklen_t length) {
      return connect(asking.get(), address, length);
    });
    if (found != 0) return Attendance::partial;
  }
  return Attendance::full;
}

}  // namespace blastoff::platform
