#include "platform/contained.h"

#include <atomic>

#include "platform/log.h"

namespace blastoff::platform {

bool contained(const Body& body) {
  try {
    body();
  } catch (...) {
    return false;
  }
  return true;
}

void say_out_of_memory() {
  static constinit std::atomic<bool> said{false};
  if (!said.exchange(true)) log_line("the process is out of memory; calls run on the CPU while it lasts");
}

}  // namespace blastoff::platform
