// Operations of vectors that only the device has. Its pages stay *newest*: nothing moves, and no state changes.
#include <algorithm>
#include <utility>

#include "platform/contained.h"
#include "platform/interval_set.h"
#include "residency/footprint.h"
#include "residency/mirror/coherence.h"

namespace blastoff::residency::mirror {

using device::Status;
using platform::Span;

namespace {

using Elements = std::vector<std::vector<std::byte>>;

Elements room_for(const operation::Operation& operation) {
  Elements elements;
  for (const operation::Operand& operand : operation.operands()) elements.emplace_back(operand.payload_bytes());
  return elements;
}

/// Copies the elements of operands, which lie on the device, to host memory without gaps.
Status tell(device::Queue& queue, const operation::Operation& on_device, Elements& elements) {
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const operation::Operand& operand = on_device.operands()[i];
    const auto address = static_cast<device::Address>(reinterpret_cast<std::uintptr_t>(operand.address));
    const device::Block block{.column_bytes = operand.column_bytes(),
                              .columns = static_cast<std::size_t>(operand.columns),
                              .host_pitch = operand.column_bytes(),
                              .device_pitch = operand.stride_bytes()};
    if (auto queued = queue.copy_to_host(elements[i].data(), address, block); !queued) return queued;
  }
  return queue.synchronize();
}

/// The pages from the first byte of each operand to its last, as ascending, disjoint spans.
std::vector<Span> pages_of(const operation::Operation& operation) {
  platform::IntervalSet all;
  for (const operation::Operand& operand : operation.operands()) all.add(platform::outward_to_pages(bounds(operand)));
  std::vector<Span> spans;
  all.all_of([&](Span span) {
    spans.push_back(span);
    return true;
  });
  return spans;
}

/// At most a page for each column.
std::size_t bytes_of_pages(const std::vector<PartThere>& parts) {
  std::size_t bytes = 0;
  for (const PartThere& part : parts)
    for (const operation::Operand& operand : part.part.operands())
      bytes += std::min(
          platform::outward_to_pages(bounds(operand)).bytes(),
          static_cast<std::size_t>(operand.columns) * platform::outward_to_pages({0, operand.column_bytes()}).bytes());
  return bytes;
}

}  // namespace

/// Under the lock, and while nothing is filled or left.
Status Coherence::make_part(const VectorsThere& vectors, PartThere& part, device::Queue& queue) {
  operation::Operation on_device = part.part;
  std::vector<RunningCalls::Use> uses;
  for (operation::Operand& operand : on_device.operands()) {
    if (!mirrors_.placed(platform::outward_to_pages(bounds(operand))))
      return tl::unexpected(device::Error{device::ErrorKind::unsupported, "vectors in several mirrors"});
    const device::Address address = mirrors_.device_address(bounds(operand).begin);
    uses.push_back({address, operand.span_bytes(), operation::writes(operand.intent)});
    operand.address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  }
  if (vectors.tell_elements) {
    part.before = room_for(on_device);
    part.after = room_for(on_device);
    if (auto told = tell(queue, on_device, part.before); !told) return told;
  }
  if (auto queued = queue.execute(on_device, vectors.host); !queued) return queued;
  // It is made, whatever happens: the CPU must not make it, too.
  bool known = false;
  platform::contained([&] { known = running_.add(queue, std::move(uses)).has_value(); });
  if (vectors.tell_elements) (void)tell(queue, on_device, part.after);
  if (!known) (void)queue.synchronize();
  return {};
}

// The work is known as that of a running call before anybody can read the pages. No other device may have them.
Status Coherence::make_there(const VectorsThere& vectors, device::CallQueues& queues, std::vector<PartThere>& made) {
  if (!place_.may_leave() || place_.shared()) return {};
  if (auto room = running_.make_room(); !room) return room;
  if (auto ordered = running_.precede(queues); !ordered) return ordered;
  const std::vector<Span> pages = pages_of(vectors.whole);
  const std::lock_guard lock(mutex_);
  apply_events();
  UseThere& use = uses_there_[vectors.whole.routine()];
  if (!use.pays()) return {};
  Status done;
  place_.use_newest(pages, [&](const std::vector<Span>& runs) {
    const std::vector<operation::Operation> parts = vectors.parts(runs);
    made.reserve(parts.size());
    for (const operation::Operation& part : parts) {
      made.push_back({part, {}, {}});
      done = tl::unexpected(device::no_host_memory());
      platform::contained([&] { done = make_part(vectors, made.back(), *queues.compute); });
      if (done) continue;
      made.pop_back();
      return;
    }
  });
  if (!made.empty()) use.made({pages.front().begin, pages.back().end}, bytes_of_pages(made));
  return done;
}

}  // namespace blastoff::residency::mirror
