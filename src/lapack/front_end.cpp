#include <memory>

#include "lapack/cholesky_series.h"
#include "lapack/problem.h"
#include "lapack/verification.h"
#include "operation/front_end.h"

namespace blastoff::lapack {
namespace {

class LapackFrontEnd final : public operation::FrontEnd {
 public:
  constexpr LapackFrontEnd() = default;

  std::size_t routine_count() const override { return lapack::routine_count; }
  const char* routine_name(std::size_t routine) const override { return routine_table[routine].name; }
  std::string arguments(const operation::Operation& operation) const override {
    return text(operation.payload<Problem>());
  }
  // No part of a result is independent of the others: Cutting::none.
  std::vector<operation::Operation> pieces(const operation::Operation& operation, std::size_t) const override {
    return {operation};
  }
  std::vector<std::vector<operation::Operation>> blocks(const operation::Operation& operation,
                                                        std::size_t bytes) const override {
    if (!is_cholesky(operation)) return {{operation}};
    return cholesky_blocks(operation, bytes);
  }
  std::unique_ptr<operation::Verification> verification(const operation::Operation& operation, const operation::Host&,
                                                        operation::Effort) const override {
    return verify(operation);
  }
};

constinit LapackFrontEnd the_front_end;

}  // namespace

operation::FrontEnd& lapack() {
  return the_front_end;
}

bool is_lapack(const operation::Operation& operation) {
  return operation.has_payload<Problem>();
}

}  // namespace blastoff::lapack
