// Pages without contents. Whoever touches one, a thread of the program or the kernel on its behalf, waits until it has
// been filled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "platform/interval_set.h"
#include "platform/owned_mapping.h"
#include "platform/span.h"

namespace blastoff::tracking {

using platform::Span;

/// All spans are whole pages of tracked memory. Thread-safe; not for children of fork, which must find all pages
/// filled.
class AbsentPages {
 public:
  virtual ~AbsentPages() = default;

  /// Gives up the contents of the span; its pages are absent from here on. The error is one line, and the contents are
  /// as they were, or partly given up where `partly` is set.
  virtual tl::expected<void, std::string> give_up(Span span, bool& partly) = 0;

  /// Contents that were taken out of memory.
  struct Taken {
    Span span;                     ///< where they were
    platform::OwnedMapping pages;  ///< where they are; what was absent holds zeros
    std::vector<Span> written;     ///< pages of the span that were written since they were last protected

    const std::byte* at(std::uintptr_t address) const {
      return reinterpret_cast<const std::byte*>(pages.span().begin + (address - span.begin));
    }
  };
  /// Takes the contents of the span out of memory, those of each mapping at one moment; its pages are absent from here
  /// on. `present`: runs of pages that are not absent before. The error is one line, and nothing has changed.
  virtual tl::expected<Taken, std::string> take(Span span, const std::vector<Span>& present) = 0;
  /// Fills these runs of pages, which are still absent, with what they held.
  virtual void put_back(const Taken& taken, const std::vector<Span>& runs) = 0;

  enum class Filled : std::uint8_t {
    yes,
    not_now,  ///< an event is waiting to be drained, after which the contents may have to be others; nothing was done
    gone,     ///< the memory is not there any more
  };
  /// Fills those pages of the span that are absent. They are protected. `contents`: of the whole span; nullptr: zeros.
  /// No event is reported while it fills, so that the contents are those of the memory as it was at the latest drain().
  virtual Filled fill(Span span, const void* contents) = 0;

  /// Blocks until threads wait for pages, or there are events to drain. Appends the addresses that they touched. False:
  /// stop_waiting() was called.
  virtual bool wait(std::vector<std::uintptr_t>& addresses) = 0;
  virtual void stop_waiting() = 0;

  /// Who knows the contents.
  class Filler {
   public:
    /// Fills what is absent of memory that has been moved, before it is no longer tracked at its new address, without
    /// the pages of `except`, which the program has dropped or unmapped there since. False: fill() returned `not_now`,
    /// and this is to be called again.
    virtual bool moved(Span from, std::uintptr_t to, const platform::IntervalSet& except) = 0;
    /// Fills what is absent of the span, which is about to be tracked no more at the program's wish.
    virtual void surrendered(Span span) = 0;

   protected:
    ~Filler() = default;
  };
  /// To be called before the first give_up(). nullptr: nothing is absent any more.
  virtual void filled_by(Filler* filler) = 0;

  /// The process is about to fork: all pages are filled, and a child is to have them.
  virtual void before_fork() = 0;
};

}  // namespace blastoff::tracking
