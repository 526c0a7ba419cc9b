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
  Checks products;
  for (std::int64_t i = 0; i < batch.products; ++i) {
    const Call one = one_product(batch, i);
    products.push_back(effort == operation::Effort::quick ? check_by_products(one) : verify(one, host));
  }
  return std::make_unique<BatchCheck>(std::move(products));
}

}  // namespace blastoff::blas
