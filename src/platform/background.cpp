#include "platform/background.h"

#include <sched.h>

namespace blastoff::platform {
namespace {

void adopt(int policy) {
  const sched_param none{};
  (void)sched_setscheduler(0, policy, &none);  // concerns this thread; if the system refuses, nothing changes
}

}  // namespace

void give_way() {
  adopt(SCHED_BATCH);
}

void go_on_as_usual() {
  adopt(SCHED_OTHER);
}

}  // namespace blastoff::platform
