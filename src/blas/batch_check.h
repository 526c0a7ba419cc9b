// The check of --verify for a batch: that of each of its products.
#pragma once

#include <memory>

#include "blas/call.h"
#include "operation/host.h"
#include "operation/verification.h"

namespace blastoff::blas {

/// Reports the product with the largest error, measured by its bound. A quick check takes at most 256 products, spread
/// evenly. `host` must outlive it.
std::unique_ptr<operation::Verification> check_products(const Call& batch, const operation::Host& host,
                                                        operation::Effort effort);

}  // namespace blastoff::blas
