// The check of copies: the elements have to be equal, bit by bit.
#include <algorithm>
#include <cstring>

#include "lapack/check/check.h"
#include "lapack/check/families.h"

namespace blastoff::lapack::check {
namespace {

using operation::Operand;
using operation::Part;

class Copying final : public operation::Verification {
 public:
  explicit Copying(const operation::Operation& operation)
      : from_(operation.operands().front()), to_(operation.operands().back()) {}

  operation::Comparison compare() const override {
    for (std::int64_t j = 0; j < to_.columns; ++j) {
      const std::int64_t first = to_.part == Part::lower ? std::min(j, to_.rows) : 0;
      const std::int64_t last = to_.part == Part::upper ? std::min(j + 1, to_.rows) : to_.rows;
      for (std::int64_t i = first; i < last; ++i)
        if (std::memcmp(element(from_, i, j), element(to_, i, j), to_.element_size) != 0)
          return {.checked = true, .relative_error = 1, .row = i, .column = j};
    }
    return {.checked = true};
  }

 private:
  static const char* element(const Operand& matrix, std::int64_t row, std::int64_t column) {
    return static_cast<const char*>(matrix.address) + static_cast<std::size_t>(column) * matrix.stride_bytes() +
           static_cast<std::size_t>(row) * matrix.element_size;
  }

  const Operand from_;
  const Operand to_;
};

}  // namespace

std::unique_ptr<operation::Verification> copy(const operation::Operation& operation) {
  return std::make_unique<Copying>(operation);
}

}  // namespace blastoff::lapack::check
