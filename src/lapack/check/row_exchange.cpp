// The check of exchanged rows: each row has to be, bit by bit, the one that belongs there.
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "lapack/check/check.h"
#include "lapack/check/families.h"

namespace blastoff::lapack::check {
namespace {

using operation::Operand;

const char* element(const Operand& matrix, std::size_t row, std::int64_t column) {
  return static_cast<const char*>(matrix.address) + static_cast<std::size_t>(column) * matrix.stride_bytes() +
         row * matrix.element_size;
}

class RowExchange final : public operation::Verification {
 public:
  explicit RowExchange(const operation::Operation& operation)
      : operation_(operation), problem_(operation.payload<Problem>()), before_(operation.operands().front()) {}

  operation::Comparison compare() const override {
    const Operand& after = operation_.operands().front();
    const std::vector<std::size_t> sources = sources_of_rows();
    operation::Comparison result{.checked = true};
    for (std::int64_t j = 0; j < after.columns; ++j)
      for (std::size_t i = 0; i < sources.size(); ++i) {
        if (std::memcmp(element(after, i, j), element(before_.operand(), sources[i], j), after.element_size) == 0)
          continue;
        return {.checked = true, .relative_error = 1, .row = static_cast<std::int64_t>(i), .column = j};
      }
    return result;
  }

 private:
  /// Where each row comes from.
  std::vector<std::size_t> sources_of_rows() const {
    std::vector<std::size_t> sources(static_cast<std::size_t>(problem_.m));
    std::iota(sources.begin(), sources.end(), std::size_t{0});
    const std::vector<std::int64_t> pivots = integers_of(problem_, operation_.vectors().front());
    for (std::size_t step = 0; step < pivots.size(); ++step) {
      const std::size_t i = problem_.incx > 0 ? step : pivots.size() - 1 - step;
      const auto row = static_cast<std::size_t>(problem_.il - 1 - problem_.k) + i;
      std::swap(sources[row], sources[static_cast<std::size_t>(pivots[i] - 1 - problem_.k)]);
    }
    return sources;
  }

  const operation::Operation operation_;
  const Problem problem_;
  const Copy before_;
};

}  // namespace

std::unique_ptr<operation::Verification> row_exchange(const operation::Operation& operation) {
  return std::make_unique<RowExchange>(operation);
}

}  // namespace blastoff::lapack::check
