// A call of a LAPACK routine: its arguments by name.
#pragma once

#include <span>

#include "lapack/kinds.h"

namespace blastoff::lapack {

class Call {
 public:
  /// `words` are the routine's arguments in order, at least argument_list(routine).size() of them, and must outlive the
  /// call. The integers behind them have `integer_bytes` bytes, 4 or 8.
  /// `value`: where the value of a function is to be written, a real number in the routine's precision.
  Call(Routine routine, std::span<void* const> words, std::uint8_t integer_bytes, void* value = nullptr);

  const Problem& problem() const { return problem_; }

  /// Whether LAPACK accepts the arguments, including the sizes of work space.
  bool valid() const;
  /// Whether the program only asks for the best size of the work space, by a size of -1. The other arguments may then
  /// be wrong.
  bool asks_for_work_size() const;
  /// Whether there is nothing to compute: an empty matrix, or asks_for_work_size().
  bool trivial() const;
  /// Whether a device can compute this form of the routine.
  bool supported() const;

  /// Only for a call that is valid, supported and not trivial.
  operation::Operation operation() const;

 private:
  void* address(Argument argument) const {
    const std::uint8_t position = arguments_.position(argument);
    return position == ArgumentList::absent ? nullptr : words_[position];
  }
  bool exchanges_rows() const { return kind_.family == Family::row_exchange; }
  bool has(Argument argument) const { return arguments_.has(argument); }
  /// 0, as the others: the routine has no such argument, or the program passes nullptr for one that does not count.
  std::int64_t integer(Argument argument) const;
  char letter(Argument argument) const;
  double real(Argument argument) const;
  /// Element `index` of ipiv, from 1.
  std::int64_t pivot(std::int64_t index) const;
  /// For laswp: sets m and k, which depend on the pivots. `m` stays 0 where a pivot is not the number of a row.
  void find_exchanged_rows();
  /// For copies: whether the memory of A and that of B, with the gaps between columns, have addresses in common.
  bool matrices_overlap() const;
  bool letters_valid() const;
  bool sizes_valid() const;
  bool work_sizes_valid() const;

  const KindRow& kind_;
  const ArgumentList& arguments_;
  void* const* words_;
  void* value_;
  Problem problem_;
};

}  // namespace blastoff::lapack
