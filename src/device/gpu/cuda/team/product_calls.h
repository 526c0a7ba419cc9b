// Products and triangular solutions that a team makes by cuBLASMp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blas/call.h"
#include "device/gpu/cuda/team/library.h"
#include "device/gpu/cuda/team/place.h"
#include "device/team.h"

namespace blastoff::device::gpu::cuda {

/// Whether cuBLASMp makes the call of an operation.
bool is_products(const operation::Operation& operation);

/// The library's side of device::Team.
class ProductCalls {
 public:
  ProductCalls(const api::CublasMp& library, const Place& place) : library_(library), place_(place) {}
  ~ProductCalls() { forget_matrices(); }
  ProductCalls(const ProductCalls&) = delete;
  ProductCalls& operator=(const ProductCalls&) = delete;

  Status prepare(const operation::Operation& operation, std::span<const TeamPart> parts, std::int64_t block,
                 Space& space);
  Status queue(Space& space);

 private:
  Status make_grid();
  void forget_matrices();
  int compute_type() const;
  void* part(std::size_t index) const { return pointer(parts_[index].address); }
  template <class Visit>
  int call(const Visit& visit) const;

  const api::CublasMp& library_;
  const Place& place_;
  api::blasMpHandle handle_ = nullptr;  // lives as long as the process, as the grid does
  api::blasMpGrid grid_ = nullptr;
  blas::Call call_{};
  std::vector<TeamPart> parts_;
  std::vector<api::blasMpMatrix> matrices_;
};

}  // namespace blastoff::device::gpu::cuda
