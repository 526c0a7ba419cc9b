#include "platform/page_moves.h"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>

#include "platform/kernel_interface.h"
#include "platform/numa.h"

namespace blastoff::platform {
namespace {

/// The kernel has not tried this page: it stops in the middle of a call if a node is full.
constexpr int unanswered = -EINPROGRESS;

/// Some pages, and the kernel's status for each: the page's node, or an error.
struct Pages {
  std::vector<void*> addresses;
  std::vector<int> statuses;

  void ask() { call(nullptr); }

  long move(int node) {
    nodes_.assign(addresses.size(), node);
    return call(nodes_.data());
  }

 private:
  long call(const int* nodes) {
    statuses.assign(addresses.size(), unanswered);
    long result = 0;
    do {
      result = syscall(SYS_move_pages, 0, addresses.size(), addresses.data(), nodes, statuses.data(), MPOL_MF_MOVE);
    } while (result < 0 && errno == EINTR);
    const int error = errno;
    // These pages have not been written: they are the kernel's page of zeros or, in many kernels, no page at all.
    std::replace(statuses.begin(), statuses.end(), -EFAULT, -ENOENT);
    return result < 0 ? -error : result;
  }

  std::vector<int> nodes_;
};

/// While this lives, the calling thread allocates pages from `node` if it has any.
class PreferNode {
 public:
  explicit PreferNode(int node) {
    saved_ = syscall(SYS_get_mempolicy, &mode_, mask_.data(), mask_bits, nullptr, 0) == 0;
    std::array<unsigned long, mask_words> wanted{};
    wanted[static_cast<std::size_t>(node) / word_bits] = 1UL << (static_cast<std::size_t>(node) % word_bits);
    preferred_ = saved_ && syscall(SYS_set_mempolicy, MPOL_PREFERRED, wanted.data(), mask_bits) == 0;
  }
  ~PreferNode() {
    if (preferred_) syscall(SYS_set_mempolicy, mode_, mode_ == MPOL_DEFAULT ? nullptr : mask_.data(), mask_bits);
  }
  PreferNode(const PreferNode&) = delete;
  PreferNode& operator=(const PreferNode&) = delete;

  bool preferred() const { return preferred_; }

 private:
  static constexpr std::size_t word_bits = 8 * sizeof(unsigned long);
  static constexpr std::size_t mask_bits = 1024;
  static constexpr std::size_t mask_words = mask_bits / word_bits;

  bool saved_ = false;
  bool preferred_ = false;
  int mode_ = MPOL_DEFAULT;
  std::array<unsigned long, mask_words> mask_{};
};

/// Allocates the absent pages. The kernel's call for this changes no existing page.
void fill_absent(const Pages& pages, int node) {
  const PreferNode preference(node);
  if (!preference.preferred()) return;
  const std::size_t page = page_size();
  const auto& addresses = pages.addresses;
  for (std::size_t i = 0; i < addresses.size();) {
    std::size_t end = i;
    while (end < addresses.size() && pages.statuses[end] == -ENOENT &&
           addresses[end] == static_cast<std::byte*>(addresses[i]) + (end - i) * page)
      ++end;
    if (end > i) madvise(addresses[i], (end - i) * page, kernel::populate_write);
    i = std::max(end, i + 1);
  }
}

/// The kernel's answer to a whole call.
struct Answer {
  bool forbidden = false;
  bool no_room = false;
};

/// Why a page with this status is not on the node.
LeftBehind reason_of(int status, Answer answer) {
  if (status == -ENOENT) return LeftBehind::absent;
  if (status == -EACCES) return LeftBehind::shared;
  if (answer.forbidden) return LeftBehind::forbidden;
  return answer.no_room ? LeftBehind::no_room : LeftBehind::busy;
}

bool elsewhere(int status, int node) {
  return status >= 0 && status != node;
}

/// Moves the pages that are elsewhere, and updates their statuses.
void move_elsewhere(Pages& pages, int node, Answer& answer) {
  Pages moving;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < pages.addresses.size(); ++i) {
    if (!elsewhere(pages.statuses[i], node)) continue;
    moving.addresses.push_back(pages.addresses[i]);
    places.push_back(i);
  }
  if (places.empty()) return;
  const long result = moving.move(node);
  answer.forbidden = result < 0 && result != -ENOMEM;
  if (answer.forbidden) return;
  bool undecided = result != 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const int status = moving.statuses[i];
    answer.no_room = answer.no_room || status == -ENOMEM || result == -ENOMEM;
    undecided = undecided || status != node;
    pages.statuses[places[i]] = status;
  }
  // If a page could not be moved, the kernel's answer may give no reason. What counts is where the page is now.
  if (!undecided) return;
  pages.ask();
  for (std::size_t i = 0; i < places.size(); ++i) {
    int& status = pages.statuses[places[i]];
    if (moving.statuses[i] == -EACCES && elsewhere(status, node)) status = -EACCES;
  }
}

void count(const std::vector<int>& before, const std::vector<int>& after, int node, Answer answer, Moved& moved) {
  const std::size_t page = page_size();
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i] == node) {
      (before[i] == node ? moved.there : before[i] == -ENOENT ? moved.filled : moved.moved) += page;
    } else {
      moved.left[static_cast<std::size_t>(reason_of(after[i], answer))] += page;
    }
  }
}

/// A node with less free memory than this counts as full, because the kernel keeps some memory for itself.
bool nearly_full(int node) {
  const auto found = numa_node(node);
  return found && found->free_bytes < std::max(found->bytes / 32, 4 * huge_page_size());
}

void move_batch(Pages& pages, int node, bool fill, Moved& moved) {
  pages.ask();
  const std::vector<int> before = pages.statuses;
  Answer answer;
  // Two attempts: parts of a huge page are busy while the first part moves the whole, and other pages may be busy for a
  // moment.
  for (int attempt = 0; attempt < 2 && !answer.forbidden; ++attempt) move_elsewhere(pages, node, answer);
  const auto& statuses = pages.statuses;
  if (fill && !answer.forbidden && std::find(statuses.begin(), statuses.end(), -ENOENT) != statuses.end()) {
    fill_absent(pages, node);
    pages.ask();
  }
  const bool behind =
      std::any_of(statuses.begin(), statuses.end(), [&](int status) { return elsewhere(status, node); });
  if (behind && !answer.forbidden && !answer.no_room) answer.no_room = nearly_full(node);
  count(before, statuses, node, answer, moved);
}

/// Calls visit(Pages&) for all pages of the spans, some at a time.
template <class Visit>
void each_batch(std::span<const Span> spans, Visit&& visit) {
  Pages pages;
  const auto deliver = [&] {
    if (!pages.addresses.empty()) visit(pages);
    pages.addresses.clear();
  };
  for (const Span span : spans) {
    for (std::uintptr_t at = span.begin; at < span.end; at += page_size()) {
      pages.addresses.push_back(reinterpret_cast<void*>(at));
      if (pages.addresses.size() == pages_per_move) deliver();
    }
  }
  deliver();
}

}  // namespace

const char* describe(LeftBehind reason) {
  switch (reason) {
    case LeftBehind::absent: return "not yet written";
    case LeftBehind::shared: return "shared with another process";
    case LeftBehind::busy: return "in use by a device or the kernel";
    case LeftBehind::no_room: return "the device's memory is full";
    case LeftBehind::forbidden: return "the device's memory is not allowed to this process";
  }
  return "";
}

Moved& Moved::operator+=(const Moved& other) {
  there += other.there;
  moved += other.moved;
  filled += other.filled;
  for (std::size_t i = 0; i < left.size(); ++i) left[i] += other.left[i];
  return *this;
}

std::uint64_t Moved::left_bytes() const {
  return std::accumulate(left.begin(), left.end(), std::uint64_t{0});
}

Moved move_to_node(std::span<const Span> spans, int node, bool fill) {
  Moved moved;
  each_batch(spans, [&](Pages& pages) { move_batch(pages, node, fill, moved); });
  return moved;
}

std::uint64_t bytes_on_node(Span span, int node) {
  std::uint64_t pages_there = 0;
  each_batch({&span, 1}, [&](Pages& pages) {
    pages.ask();
    pages_there += static_cast<std::uint64_t>(std::count(pages.statuses.begin(), pages.statuses.end(), node));
  });
  return pages_there * page_size();
}

std::optional<int> main_node(Span span) {
  constexpr std::size_t max_asked = 64;
  const Span whole = outward_to_pages(span);
  const std::size_t count = whole.bytes() / page_size();
  const std::size_t asked = std::min(count, max_asked);
  Pages pages;
  for (std::size_t i = 0; i < asked; ++i)
    pages.addresses.push_back(reinterpret_cast<void*>(whole.begin + i * count / asked * page_size()));
  pages.ask();
  std::optional<int> found;
  std::ptrdiff_t there = 0;
  for (const int node : pages.statuses)
    if (const auto here = std::ranges::count(pages.statuses, node); node >= 0 && here > there) {
      found = node;
      there = here;
    }
  return found;
}

}  // namespace blastoff::platform
