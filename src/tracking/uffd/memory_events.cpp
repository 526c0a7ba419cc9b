#include "tracking/uffd/memory_events.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "platform/contained.h"
#include "platform/failure.h"
#include "platform/kernel_interface.h"
#include "platform/mappings.h"
#include "platform/process.h"

namespace blastoff::tracking {
namespace {

constexpr std::uint64_t event_features =
    UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE;

std::string cause(const char* what) {
  return platform::failure(what, errno);
}

/// A userfaultfd, and whether it also serves faults of the kernel.
struct Opened {
  platform::Descriptor uffd;
  bool serves_kernel = false;
};

/// The unrestricted mode where it is allowed: to root, with CAP_SYS_PTRACE, by vm.unprivileged_userfaultfd, or to those
/// who may open the device file.
Opened new_userfaultfd() {
  constexpr int flags = O_CLOEXEC | O_NONBLOCK;
  const platform::Descriptor device(open("/dev/userfaultfd", O_RDWR | O_CLOEXEC));
  for (const int mode : {0, platform::kernel::uffd_user_mode_only}) {
    if (platform::Descriptor made(static_cast<int>(syscall(SYS_userfaultfd, flags | mode))); made)
      return {std::move(made), mode == 0};
    const int error = errno;
    // A container that forbids the system call may still offer the device file.
    if (device)
      if (platform::Descriptor made(ioctl(device.get(), platform::kernel::uffd_ioc_new, flags | mode)); made)
        return {std::move(made), mode == 0};
    errno = error;
  }
  return {};
}

tl::expected<Opened, std::string> open_userfaultfd(const UffdMemoryEvents::Features& features) {
  Opened opened = new_userfaultfd();
  platform::Descriptor& uffd = opened.uffd;
  if (!uffd) {
    const int error = errno;
    const bool none_left = platform::is_lack_of_descriptors(error);
    return tl::unexpected(platform::failure("userfaultfd:", error) +
                          (none_left ? "" : " (forbidden by this container or missing in this kernel)"));
  }
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = event_features | features.bits;
  if (ioctl(uffd.get(), UFFDIO_API, &api) != 0)
    return tl::unexpected("Linux " + platform::kernel_release() + " has no " + features.lack);
  uffd = platform::out_of_the_way(std::move(uffd));
  return opened;
}

/// Checks that this machine's kernel can register memory for write protection without trapping its pages; not all can.
tl::expected<void, std::string> try_out(int uffd) {
  void* memory = mmap(nullptr, platform::page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return tl::unexpected(cause("mmap:"));
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  uffdio_register request{};
  request.range = {begin, platform::page_size()};
  request.mode = UFFDIO_REGISTER_MODE_WP;
  const bool works = syscall(SYS_ioctl, uffd, UFFDIO_REGISTER, &request) == 0;
  const std::string error = works ? "" : cause("UFFDIO_REGISTER:");
  if (works) ioctl(uffd, UFFDIO_UNREGISTER, &request.range);  // otherwise munmap would wait for a reader of its event
  munmap(memory, platform::page_size());
  if (works) return {};
  return tl::unexpected(error + " (Linux " + platform::kernel_release() +
                        " cannot write-protect by userfaultfd: on arm64 6.10 or newer is needed)");
}

/// Those that exist now.
struct Readers {
  std::mutex mutex;
  std::vector<UffdMemoryEvents*> all;
  std::atomic<bool> any{false};  ///< a reader has existed
  std::atomic<int> process{0};   ///< of the readers; a child of fork has none, and its copy of the mutex may be locked

  static Readers& instance() {
    static Readers& readers = *new Readers;
    return readers;
  }
};

}  // namespace

bool surrender_memory(Span span) {
  Readers& readers = Readers::instance();
  if (getpid() != readers.process) return false;
  const std::lock_guard lock(readers.mutex);
  bool any = false;
  for (UffdMemoryEvents* events : readers.all) any = events->surrender(span) || any;
  return any;
}

void end_watching() {
  Readers& readers = Readers::instance();
  const std::lock_guard lock(readers.mutex);
  for (UffdMemoryEvents* events : readers.all) events->reader().end();
  readers.any = false;
}

bool memory_is_watched() {
  return Readers::instance().any.load(std::memory_order_relaxed);
}

UffdMemoryEvents::UffdMemoryEvents(std::unique_ptr<EventReader> reader, bool serves_kernel)
    : reader_(std::move(reader)), serves_kernel_(serves_kernel) {
  Readers& readers = Readers::instance();
  const std::lock_guard lock(readers.mutex);
  readers.all.push_back(this);
  readers.any = true;
  readers.process = getpid();
}

UffdMemoryEvents::~UffdMemoryEvents() {
  Readers& readers = Readers::instance();
  const std::lock_guard lock(readers.mutex);
  std::erase(readers.all, this);
}

tl::expected<std::unique_ptr<UffdMemoryEvents>, std::string> UffdMemoryEvents::open(const Features& features) {
  auto opened = open_userfaultfd(features);
  if (!opened) return tl::unexpected(opened.error());
  if (auto works = try_out(opened->uffd.get()); !works) return tl::unexpected(works.error());
  auto reader = EventReader::start(std::move(opened->uffd));
  if (reader == nullptr) return tl::unexpected(std::string("cannot start the thread that watches memory"));
  return std::unique_ptr<UffdMemoryEvents>(new UffdMemoryEvents(std::move(reader), opened->serves_kernel));
}

tl::expected<void, std::string> UffdMemoryEvents::allowed() {
  auto opened = open_userfaultfd({});
  if (!opened) return tl::unexpected(opened.error());
  return try_out(opened->uffd.get());
}

/// Does not change the protection of pages that are registered already.
tl::expected<void, std::string> UffdMemoryEvents::watch(Span span) {
  if (span.empty()) return {};
  uffdio_register request{};
  request.range = {span.begin, span.bytes()};
  request.mode = UFFDIO_REGISTER_MODE_WP;
  const int error = control(UFFDIO_REGISTER, &request);
  if (error == 0 && note_watched(span)) return {};
  if (error == 0) unregister_span(span);
  if (error == 0) return tl::unexpected(std::string("no memory to remember what is watched"));
  if (error == EBADF) return tl::unexpected(std::string("the program has closed the descriptor that watches memory"));
  if (error == EBUSY) return tl::unexpected(std::string("memory with a userfaultfd of the program's own"));
  return tl::unexpected(std::string("UFFDIO_REGISTER: ") + std::strerror(error));
}

bool UffdMemoryEvents::note_watched(Span span) {
  return platform::contained([&] {
    const std::lock_guard lock(watched_mutex_);
    watched_.add(span);
  });
}

// Before Linux 6.17, UFFDIO_UNREGISTER also ends registrations with other descriptors: the program's own.
bool UffdMemoryEvents::surrender(Span span) {
  std::vector<Span> ours;
  const bool listed = platform::contained([&] {
    const std::lock_guard lock(watched_mutex_);
    watched_.each_common(span, [&](Span part) { ours.push_back(part); });
  });
  if (!listed) return reader_->surrender(span) == 0;
  bool any = false;
  for (const Span part : ours) {
    if (reader_->surrender(part) != 0) continue;
    forget_watched(part);
    any = true;
  }
  return any;
}

void UffdMemoryEvents::forget_watched(Span span) {
  platform::contained([&] {
    const std::lock_guard lock(watched_mutex_);
    watched_.remove(span);
  });
}

/// The memory at its new address. Its mapping may have grown while it moved, and ending the watch of a part would split
/// it. If memory moves back to where it was, the kernel may have made one mapping of it and its neighbour, which is
/// watched on.
Span UffdMemoryEvents::to_unwatch(const MemoryEvent& moved) {
  const Span now{moved.moved_to, moved.moved_to + moved.span.bytes()};
  const auto mapping = platform::Mappings().covering(now.begin);
  if (!mapping || mapping->span.end <= now.end) return now;
  std::uintptr_t end = now.end;
  const std::lock_guard lock(watched_mutex_);
  watched_.each_gap({now.end, mapping->span.end}, [&](Span unwatched) {
    if (unwatched.begin == now.end) end = unwatched.end;
  });
  return {now.begin, end};
}

bool UffdMemoryEvents::unregister_span(Span span) {
  uffdio_range range = {span.begin, span.bytes()};
  return control(UFFDIO_UNREGISTER, &range) == 0;
}

void UffdMemoryEvents::unwatch(Span span) {
  forget_watched(span);
  if (span.empty() || unregister_span(span)) return;
  // The kernel unregisters the whole span or nothing, and something else is mapped within it by now. Unregister the
  // pieces that are still ours.
  platform::Mappings mappings;
  for (std::uintptr_t at = span.begin; at < span.end;) {
    const auto mapping = mappings.covering(at);
    const std::uintptr_t end = mapping ? std::min(mapping->span.end, span.end) : at + platform::page_size();
    if (mapping) unregister_span({at, end});
    at = end;
  }
}

bool UffdMemoryEvents::drain(std::vector<MemoryEvent>& events) {
  const std::lock_guard lock(drain_mutex_);
  const bool settled = reader_->ring().settle();
  const std::size_t before = events.size();
  const bool complete = reader_->ring().take(events);
  for (std::size_t i = before; i < events.size(); ++i) {
    if (heard_) heard_(events, i);
    const MemoryEvent event = events[i];
    if (event.kind != MemoryEvent::Kind::dropped) forget_watched(event.span);
    // The registration moves along with the memory, but nobody asked to watch the new addresses.
    if (event.kind == MemoryEvent::Kind::moved) unwatch(to_unwatch(event));
  }
  return !std::exchange(lost_, false) && settled && complete;
}

}  // namespace blastoff::tracking
