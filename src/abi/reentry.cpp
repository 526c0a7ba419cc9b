#include "abi/reentry.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <unwind.h>

#include "platform/threads.h"

namespace blastoff::abi {
namespace {

using Address = std::uintptr_t;

Address address_of(const void* place) {
  return reinterpret_cast<Address>(place);
}

/// A return address, and its place on the stack, counted from the frame of is_called_below().
struct Return {
  std::uint32_t offset = 0;
  Address to = 0;
};

/// The return addresses from is_called_below() up to run_marked(). The frames between them have fixed sizes, which the
/// return addresses determine. So if all return addresses are in the same places again, the same calls are in progress.
struct Chain {
  static constexpr std::size_t max_returns = 14;

  Address distance = 0;  ///< distance of the mark from is_called_below()'s frame, in bytes
  std::uint32_t size = 0;
  std::array<Return, max_returns> returns{};

  bool stands_at(Address frame) const {
    // Compares in this order: only a correct return address shows that the next one lies on the stack.
    return std::all_of(returns.begin(), returns.begin() + size, [&](const Return& each) {
      return *reinterpret_cast<const volatile Address*>(frame + each.offset) == each.to;
    });
  }
};

/// The chains that were found by unwinding. There are few, because libraries make calls to themselves in few ways.
/// Chains for which there is no room are unwound every time.
class KnownChains {
 public:
  bool any_stands_at(Address frame, Address distance) const {
    for (const Entry& entry : entries_) {
      const State state = entry.state.load(std::memory_order_acquire);
      if (state == State::empty) return false;
      if (state == State::there && entry.chain.distance == distance && entry.chain.stands_at(frame)) return true;
    }
    return false;
  }

  void add(const Chain& chain) {
    for (Entry& entry : entries_) {
      State expected = State::empty;
      if (!entry.state.compare_exchange_strong(expected, State::being_written)) continue;
      entry.chain = chain;
      entry.state.store(State::there, std::memory_order_release);
      return;
    }
  }

 private:
  enum class State : std::uint8_t { empty, being_written, there };
  struct Entry {
    std::atomic<State> state{State::empty};
    Chain chain;
  };
  std::array<Entry, 24> entries_;
};
constinit KnownChains known_chains;

/// Looks for the frame with the mark among the frames to which is_called_below() will return.
class Walk {
 public:
  Walk(Address here, Address mark) : here_(here), mark_(mark) { chain_.distance = mark - here; }

  bool finds_mark() {
    const bool ended = _Unwind_Backtrace(&Walk::visit, this) == _URC_END_OF_STACK;
    if (ended && !decided_) found_ = last_return_ != 0 && may_be_one_call();
    if (found_ && decided_ && complete_) known_chains.add(chain_);
    return found_;
  }

 private:
  static constexpr int max_frames = 200;

  /// Whether the mark may belong to the same call although the walk did not reach it. Code without unwind tables, which
  /// an original may consist of, ends the walk before the end of the stack.
  bool may_be_one_call() const {
    constexpr Address far_for_one_call = Address{1} << 20;
    return mark_ - here_ < far_for_one_call && platform::on_stack_of_thread(reinterpret_cast<void*>(here_)) &&
           platform::on_stack_of_thread(reinterpret_cast<void*>(mark_));
  }

  static _Unwind_Reason_Code visit(_Unwind_Context* context, void* self) {
    return static_cast<Walk*>(self)->goes_on(context) ? _URC_NO_REASON : _URC_NORMAL_STOP;
  }

  /// Visits one frame. A frame begins at the stack pointer with which it made its call, and ends where its caller's
  /// frame begins.
  bool goes_on(_Unwind_Context* context) {
    const Address begin = _Unwind_GetCFA(context);
    const Address returns_to = _Unwind_GetIP(context);
    if (frames_ > 0) {
      note_return(begin, returns_to);
      decided_ = begin_ <= mark_ && mark_ < begin;
      found_ = decided_ && function_ == reinterpret_cast<Address>(&detail::run_marked);
    }
    begin_ = begin;
    last_return_ = returns_to;
    function_ = _Unwind_GetRegionStart(context);
    return !decided_ && ++frames_ < max_frames;
  }

  /// Notes the place of the return address into the frame that begins at `end`. The called frame, which lies below,
  /// holds it.
  void note_return(Address end, Address returns_to) {
    if (end <= here_) return;
    for (Address place = end - sizeof(Address); complete_ && place >= begin_; place -= sizeof(Address)) {
      if (*reinterpret_cast<const volatile Address*>(place) != returns_to) continue;
      complete_ = chain_.size < Chain::max_returns;
      if (complete_) chain_.returns[chain_.size++] = {static_cast<std::uint32_t>(place - here_), returns_to};
      return;
    }
    complete_ = false;
  }

  const Address here_;
  const Address mark_;
  Chain chain_;
  Address begin_ = 0;
  Address function_ = 0;
  Address last_return_ = 0;
  int frames_ = 0;
  bool complete_ = true;
  bool decided_ = false;
  bool found_ = false;
};

/// Has a stack frame of its own, because only a new chain needs it.
[[gnu::noinline]] bool found_by_unwinding(Address here, Address mark) {
  return Walk(here, mark).finds_mark();
}

}  // namespace

namespace detail {

void run_marked(void (*body)(const void* self, const void* mark), const void* self) {
  body(self, __builtin_frame_address(0));
  asm volatile("" ::: "memory");  // so the frame stays until the body has returned
}

bool still_inside_original() {
  if (is_called_below(outermost_original)) return true;
  outermost_original = nullptr;
  return false;
}

}  // namespace detail

bool is_called_below(const void* mark) {
  const void* const frame = __builtin_frame_address(0);
  // The stack grows down.
  if (mark == nullptr || frame > mark) return false;
  const Address here = address_of(frame);
  const Address there = address_of(mark);
  return known_chains.any_stands_at(here, there - here) || found_by_unwinding(here, there);
}

}  // namespace blastoff::abi
