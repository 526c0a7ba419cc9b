#include "prediction/course.h"

#include <algorithm>
#include <iterator>

namespace blastoff::prediction {

double Course::at(double traced, int number) const {
  const auto after = shifts_.upper_bound(traced);
  const double shift = after == shifts_.begin() ? 0 : std::prev(after)->second;
  const auto thread = busy_until_.find(number);
  return std::max(traced + shift, thread == busy_until_.end() ? 0 : thread->second);
}

void Course::finish(const TracedCall& call, double traced_end, double end) {
  constexpr std::size_t max_ends = 4096;
  busy_until_[call.thread] = end;
  shifts_[traced_end] = end - traced_end;
  if (shifts_.size() > max_ends) shifts_.erase(shifts_.begin(), std::next(shifts_.begin(), max_ends / 2));
  if (traced_end < last_end_) return;
  last_end_ = traced_end;
  shift_ = end - traced_end;
}

}  // namespace blastoff::prediction
