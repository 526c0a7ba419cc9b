#include "tracking/uffd/event_reader.h"

#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "platform/threads.h"

namespace blastoff::platform {
namespace {

void put_message(EventRing& ring, const uffd_msg& message) {
  switch (message.event) {
    case UFFD_EVENT_UNMAP:
      ring.put({MemoryEvent::Kind::unmapped, {message.arg.remove.start, message.arg.remove.end}});
      break;
    case UFFD_EVENT_REMOVE:
      ring.put({MemoryEvent::Kind::dropped, {message.arg.remove.start, message.arg.remove.end}});
      break;
    case UFFD_EVENT_REMAP: {
      const auto& remap = message.arg.remap;
      ring.put({MemoryEvent::Kind::moved, {remap.from, remap.from + remap.len}, remap.to});
      break;
    }
    default: ring.lose();
  }
}

}  // namespace

EventReader::Shared::~Shared() {
  if (stop >= 0) close(stop);
}

EventReader::EventReader(std::shared_ptr<Shared> shared) : shared_(std::move(shared)), process_(getpid()) {}

std::unique_ptr<EventReader> EventReader::start(int uffd) {
  auto shared = std::make_shared<Shared>();
  shared->uffd = uffd;
  shared->stop = eventfd(0, EFD_CLOEXEC);
  if (shared->stop < 0 || !start_thread("blastoff-watch", [shared] { read_events(*shared); })) return nullptr;
  return std::unique_ptr<EventReader>(new EventReader(std::move(shared)));
}

EventReader::~EventReader() {
  if (getpid() != process_) return;  // a child of fork has no such thread
  stop_waiting();
  const std::uint64_t one = 1;
  while (write(shared_->stop, &one, sizeof one) < 0 && errno == EINTR) {
  }
  shared_->ended.wait(0);
}

void EventReader::read_events(Shared& shared) {
  pollfd sources[] = {{shared.uffd, POLLIN, 0}, {shared.stop, POLLIN, 0}};
  for (;;) {
    if (poll(sources, 2, -1) < 0) continue;
    if (sources[1].revents != 0) break;
    if ((sources[0].revents & POLLIN) != 0) {
      take_messages(shared);
    } else if (sources[0].revents != 0) {
      break;  // someone closed the descriptor
    }
  }
  shared.ring.close();
  shared.arrivals.fetch_add(1, std::memory_order_release);
  shared.arrivals.notify_all();
  shared.ended.store(1, std::memory_order_release);
  shared.ended.notify_all();
}

void EventReader::take_messages(Shared& shared) {
  uffd_msg messages[32];
  shared.ring.begin_read();
  const ssize_t bytes = read(shared.uffd, messages, sizeof messages);
  const auto count = bytes > 0 ? static_cast<std::size_t>(bytes) / sizeof messages[0] : 0;
  for (std::size_t i = 0; i < count; ++i) put_message(shared.ring, messages[i]);
  shared.ring.end_read();
  if (count == 0) return;
  shared.arrivals.fetch_add(1, std::memory_order_release);
  shared.arrivals.notify_all();
}

bool EventReader::wait_for_events() {
  for (;;) {
    const std::uint32_t seen = shared_->arrivals.load(std::memory_order_acquire);
    if (shared_->released.load(std::memory_order_acquire)) return false;
    if (shared_->ring.waiting()) return true;
    shared_->arrivals.wait(seen, std::memory_order_acquire);
  }
}

void EventReader::stop_waiting() {
  shared_->released.store(true, std::memory_order_release);
  shared_->arrivals.fetch_add(1, std::memory_order_release);
  shared_->arrivals.notify_all();
}

}  // namespace blastoff::platform
