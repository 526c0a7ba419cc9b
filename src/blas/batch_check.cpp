#include "blas/batch_check.h"

#include <utility>
#include <vector>

#include "blas/batch.h"
#include "blas/product_check.h"
#include "blas/verification.h"

namespace blastoff::blas {
namespace {

using operation::Comparison;
using Checks = std::vector<std::unique_ptr<operation::Verification>>;

class BatchCheck final : public operation::Verification {
 public:
  explicit BatchCheck(Checks products) : products_(std::move(products)) {}

  Comparison compare() const override {
    Comparison worst;
    for (const auto& product : products_) {
      const Comparison one = product->compare();
      if (!one.checked) continue;
      if (!worst.checked || one.relative_error * worst.bound > worst.relative_error * one.bound) worst = one;
    }
    return worst;
  }

 private:
  const Checks products_;
};

}  // namespace

std::unique_ptr<operation::Verification> check_products(const Call& batch, const operation::Host& host,
                                                        operation::Effort effort) {
  constexpr std::int64_t max_quick = 256;
  const bool quick = effort == operation::Effort::quick;
  const std::int64_t step = quick ? batch.products / max_quick + 1 : 1;
  Checks products;
  for (std::int64_t i = 0; i < batch.products; i += step) {
    const Call one = one_product(batch, i);
    // The host solves, and has no function that multiplies.
    const bool by_products = quick || is_solve_batch(batch.kind());
    products.push_back(by_products ? check_by_products(one) : verify(one, host));
  }
  return std::make_unique<BatchCheck>(std::move(products));
}

}  // namespace blastoff::blas
