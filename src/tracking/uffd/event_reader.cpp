#include "tracking/uffd/event_reader.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <shared_mutex>
#include <utility>

#include "platform/descriptor_table.h"
#include "platform/errno_guard.h"
#include "platform/mapping_extents.h"
#include "platform/thread_ends.h"
#include "platform/threads.h"

namespace blastoff::tracking {
namespace {

/// Not ioctl(), which we wrap ourselves.
int control_by_number(int uffd, unsigned long request, void* argument) {
  return syscall(SYS_ioctl, uffd, request, argument) == 0 ? 0 : errno;
}

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

/// A page between two inaccessible ones, so that the kernel does not merge it with memory of the program.
std::uintptr_t map_bell() {
  const std::size_t page = platform::page_size();
  void* pages = mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return 0;
  char* bell = static_cast<char*>(pages) + page;
  mprotect(bell, page, PROT_READ | PROT_WRITE);
  return reinterpret_cast<std::uintptr_t>(bell);
}

void unmap_bell(std::uintptr_t bell) {
  munmap(reinterpret_cast<void*>(bell - platform::page_size()), 3 * platform::page_size());
}

int register_bell(int uffd, std::uintptr_t bell) {
  uffdio_register request{};
  request.range = {bell, platform::page_size()};
  request.mode = UFFDIO_REGISTER_MODE_WP;
  return control_by_number(uffd, UFFDIO_REGISTER, &request);
}

/// Before Linux 5.12 all descriptors without a file have the same identity.
bool has_unique_identity(const platform::FileIdentity& identity) {
  const platform::Descriptor other(eventfd(0, EFD_CLOEXEC));
  return other && platform::file_identity(other.get()) != identity;
}

}  // namespace

EventReader::EventReader(std::shared_ptr<Shared> shared, platform::Descriptor uffd)
    : shared_(std::move(shared)), uffd_(std::move(uffd)), process_(getpid()) {}

std::unique_ptr<EventReader> EventReader::start(platform::Descriptor uffd) {
  auto shared = std::make_shared<Shared>();
  shared->uffd = uffd.get();
  shared->identity = platform::file_identity(uffd.get());
  shared->bell = map_bell();
  if (shared->bell == 0) return nullptr;
  if (register_bell(uffd.get(), shared->bell) != 0 ||
      !platform::start_thread("blastoff-watch", [shared] { read_events(*shared); })) {
    { const platform::Descriptor closed = std::move(uffd); }
    unmap_bell(shared->bell);
    return nullptr;
  }
  shared->state.wait(State::starting);
  std::unique_ptr<EventReader> reader(new EventReader(std::move(shared), std::move(uffd)));
  reader->recognisable_ = has_unique_identity(reader->uffd_.identity());
  // If we cannot tell our descriptor from one of the program's, we close it and leave all requests to the reader.
  if (!reader->recognisable_ && reader->shared_->own_table) reader->uffd_ = platform::GuardedDescriptor();
  return reader;
}

EventReader::~EventReader() {
  if (getpid() != process_) return;  // a child of fork has no such thread
  stop_waiting();
  end();
  uffd_ = platform::GuardedDescriptor();
  unmap_bell(shared_->bell);
}

// Waits until the reader has ended every watch. Before that none of this memory may be unmapped: unmapping memory that
// is still watched would wait for a reader forever, even where only a child of fork holds a copy of the descriptor.
void EventReader::end() {
  Request stop;
  ring_for(stop);
  shared_->state.wait(State::reading);
}

int EventReader::control(unsigned long request, void* argument) {
  if (getpid() != process_) return EBADF;  // in a child of fork the descriptor refers to the parent's memory
  if (const int number = recognisable_ ? uffd_.get() : -1; number >= 0)
    return control_by_number(number, request, argument);
  Request asked{request, argument, {}, 0};
  return ring_for(asked);
}

int EventReader::control_while_quiet(unsigned long request, void* argument) {
  if (getpid() != process_) return EBADF;
  if (const int number = recognisable_ ? uffd_.get() : -1; number >= 0) {
    const std::shared_lock lock(shared_->reading);
    return shared_->ring.waiting() ? ECANCELED : control_by_number(number, request, argument);
  }
  Request asked{request, argument, {}, 0, true};
  return ring_for(asked);
}

int EventReader::surrender(Span span) {
  if (before_surrender_) before_surrender_(span);
  uffdio_range range = {span.begin, span.bytes()};
  Request asked{UFFDIO_UNREGISTER, &range, span, 0};
  return ring_for(asked);
}

int EventReader::ring_for(Request& request) {
  if (getpid() != process_) return EBADF;
  const std::lock_guard lock(request_mutex_);
  const std::uint32_t before = shared_->answers.load(std::memory_order_acquire);
  request.error = EBADF;
  if (shared_->state.load(std::memory_order_acquire) == State::ended) return request.error;
  shared_->request.store(&request, std::memory_order_release);
  ring_bell();
  shared_->answers.wait(before, std::memory_order_acquire);
  shared_->request.store(nullptr, std::memory_order_release);
  return request.error;
}

// Returns when the reader has taken the event. A page that mlockall() has locked cannot be dropped and is unlocked
// first.
void EventReader::ring_bell() const {
  const platform::ErrnoGuard errno_stays;
  void* const bell = reinterpret_cast<void*>(shared_->bell);
  while (syscall(SYS_madvise, bell, platform::page_size(), MADV_DONTNEED) != 0) munlock(bell, platform::page_size());
}

void EventReader::read_events(Shared& shared) {
  shared.own_table = platform::leave_shared_descriptors(shared.uffd);
  shared.state.store(State::reading);
  shared.state.notify_all();
  pollfd source = {shared.uffd, POLLIN, 0};
  // The program may have closed our descriptor and opened a file of its own under the same number. That file must not
  // be touched, not even read.
  const auto ours = [&] { return platform::file_identity(shared.uffd) == shared.identity; };
  bool go_on = ours();
  while (go_on) {
    if (poll(&source, 1, -1) < 0) continue;
    go_on = (source.revents & POLLIN) != 0 && (shared.own_table || ours()) && take_messages(shared);
  }
  if (ours()) unregister_all(shared);
  if (shared.own_table) close(shared.uffd);
  shared.ring.close();
  shared.announce();
  platform::announce_end();
  shared.state.store(State::ended);
  shared.state.notify_all();
  shared.answers.fetch_add(1, std::memory_order_release);
  shared.answers.notify_all();
}

// False: the thread is to end.
bool EventReader::take_messages(Shared& shared) {
  uffd_msg messages[32];
  bool rung = false;
  const std::lock_guard lock(shared.reading);
  shared.ring.begin_read();
  const ssize_t bytes = read(shared.uffd, messages, sizeof messages);
  const auto count = bytes > 0 ? static_cast<std::size_t>(bytes) / sizeof messages[0] : 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (messages[i].event == UFFD_EVENT_REMOVE && messages[i].arg.remove.start == shared.bell)
      rung = true;
    else if (messages[i].event == UFFD_EVENT_PAGEFAULT)
      shared.faults.put(messages[i].arg.pagefault.address);
    else if (!is_own(shared, messages[i]))
      put_message(shared.ring, messages[i]);
  }
  const bool go_on = !rung || answer(shared);
  shared.ring.end_read();
  if (count == 0) return true;
  shared.announce();
  return go_on;
}

// The kernel reports what it drops mapping by mapping.
bool EventReader::is_own(const Shared& shared, const uffd_msg& message) {
  if (message.event != shared.own_event.load(std::memory_order_acquire)) return false;
  const std::uintptr_t begin = shared.own_begin.load(std::memory_order_acquire);
  const std::uintptr_t end = shared.own_end.load(std::memory_order_acquire);
  if (message.event == UFFD_EVENT_REMOVE) return message.arg.remove.start >= begin && message.arg.remove.end <= end;
  return message.arg.remap.from == begin && message.arg.remap.len == end - begin;
}

// The system call returns when the reader has taken its event, perhaps before the reader has looked at it.
template <class Change>
int EventReader::change_unheard(Span span, std::uint8_t event, Change&& change) {
  const std::lock_guard lock(change_mutex_);
  shared_->own_begin.store(span.begin, std::memory_order_release);
  shared_->own_end.store(span.end, std::memory_order_release);
  shared_->own_event.store(event, std::memory_order_release);
  const int error = change();
  while (!shared_->ring.settle()) {
  }
  shared_->own_event.store(0, std::memory_order_release);
  return error;
}

int EventReader::drop(Span span) {
  return change_unheard(span, UFFD_EVENT_REMOVE,
                        [&] { return syscall(SYS_madvise, span.begin, span.bytes(), MADV_DONTNEED) == 0 ? 0 : errno; });
}

int EventReader::move_away(Span span, std::uintptr_t to) {
  return change_unheard(span, UFFD_EVENT_REMAP, [&] {
    constexpr int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
    return syscall(SYS_mremap, span.begin, span.bytes(), span.bytes(), flags, to) == -1 ? errno : 0;
  });
}

bool EventReader::answer(Shared& shared) {
  Request* const request = shared.request.load(std::memory_order_acquire);
  if (request == nullptr) return true;
  if (request->code == 0) return false;
  request->error = request->only_while_quiet && shared.ring.waiting()
                       ? ECANCELED
                       : control_by_number(shared.uffd, request->code, request->argument);
  if (request->error == 0 && !request->gone.empty()) shared.ring.put({MemoryEvent::Kind::unmapped, request->gone});
  shared.answers.fetch_add(1, std::memory_order_release);
  shared.answers.notify_all();
  return true;
}

// Closing the descriptor would do the same, unless a child of fork holds a copy. Reading the remaining events releases
// the threads that wait for a reader.
void EventReader::unregister_all(const Shared& shared) {
  platform::each_mapping_extent([&](Span span) {
    uffdio_range range = {span.begin, span.bytes()};
    control_by_number(shared.uffd, UFFDIO_UNREGISTER, &range);
  });
  uffd_msg messages[32];
  while (read(shared.uffd, messages, sizeof messages) > 0) {
  }
}

bool EventReader::wait_for_events() {
  for (;;) {
    const std::uint32_t seen = shared_->arrivals.load(std::memory_order_acquire);
    if (shared_->released.load(std::memory_order_acquire)) return false;
    if (shared_->ring.waiting()) return true;
    shared_->arrivals.wait(seen, std::memory_order_acquire);
  }
}

bool EventReader::wait_for_faults(std::vector<std::uintptr_t>& addresses, bool& missed) {
  for (;;) {
    const std::uint32_t seen = shared_->arrivals.load(std::memory_order_acquire);
    if (shared_->faults_released.load(std::memory_order_acquire)) return false;
    missed = !shared_->faults.take(addresses);
    if (shared_->state.load(std::memory_order_acquire) == State::ended) return false;
    if (!addresses.empty() || missed || shared_->ring.waiting()) return true;
    shared_->arrivals.wait(seen, std::memory_order_acquire);
  }
}

void EventReader::stop_waiting_for_faults() {
  shared_->faults_released.store(true, std::memory_order_release);
  shared_->announce();
}

void EventReader::stop_waiting() {
  shared_->released.store(true, std::memory_order_release);
  shared_->announce();
}

}  // namespace blastoff::tracking
