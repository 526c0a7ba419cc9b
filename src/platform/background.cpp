#include "platform/background.h"

#include <sched.h>

namespace blastoff::platform {
namespace {

void adopt(int policy) {
  const sched_param none{};
  (void)sched_setscheduler(0, policy, &none);  // of this thread; where the system refuses, all goes on as it was
}

}  // namespace

void give_way() {
  adopt(SCHED_BATCH);
}

void go_on_as_usual() {
  adopt(SCHED_OTHER);
}

}  // namespace blastoff::platform
