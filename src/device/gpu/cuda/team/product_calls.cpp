#include "device/gpu/cuda/team/product_calls.h"

#include "blas/front_end.h"
#include "device/gpu/cuda/cublas/words.h"

namespace blastoff::device::gpu::cuda {
namespace {

Status refuse(std::string_view name, int status) {
  return tl::unexpected(refused(name, status));
}

}  // namespace

bool is_products(const operation::Operation& operation) {
  if (!blas::is_blas(operation)) return false;
  const blas::Kind kind = blas::call_of(operation).kind();
  return kind == blas::Kind::gemm || kind == blas::Kind::trsm || kind == blas::Kind::syrk;
}

Status ProductCalls::prepare(const operation::Operation& operation, std::span<const TeamPart> parts, std::int64_t block,
                             Space& space) {
  if (auto made = make_grid(); !made) return made;
  call_ = blas::call_of(operation);
  parts_.assign(parts.begin(), parts.end());
  forget_matrices();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const operation::Operand& whole = operation.operands()[i];
    const int made = library_.cublasMpMatrixDescriptorCreate(whole.rows, whole.columns, block, block, 0, 0,
                                                             parts[i].leading_dimension, data_type(call_.scalar()),
                                                             grid_, &matrices_.emplace_back());
    if (made != api::blas_mp_success) return refuse("cublasMpMatrixDescriptorCreate", made);
  }
  const int sized = call([&](auto* size, auto*, const auto&... arguments) {
    return size(arguments..., compute_type(), &space.device_bytes, &space.host_bytes);
  });
  return sized == api::blas_mp_success ? Status{} : refuse("cuBLASMp's work space", sized);
}

Status ProductCalls::queue(Space& space) {
  const int done = call([&](auto*, auto* routine, const auto&... arguments) {
    return routine(arguments..., compute_type(), space.device(), space.device_bytes, space.host(), space.host_bytes);
  });
  return done == api::blas_mp_success ? Status{} : refuse("cuBLASMp", done);
}

/// All members make it together.
Status ProductCalls::make_grid() {
  if (grid_ != nullptr) return {};
  if (const int made = library_.cublasMpCreate(&handle_, place_.stream); made != api::blas_mp_success)
    return refuse("cublasMpCreate", made);
  const int made = library_.cublasMpGridCreate(1, place_.members, api::column_by_column, place_.communicator, &grid_);
  return made == api::blas_mp_success ? Status{} : refuse("cublasMpGridCreate", made);
}

void ProductCalls::forget_matrices() {
  for (api::blasMpMatrix matrix : matrices_)
    if (matrix != nullptr) library_.cublasMpMatrixDescriptorDestroy(matrix);
  matrices_.clear();
}

int ProductCalls::compute_type() const {
  const bool single = call_.scalar() == blas::Scalar::s || call_.scalar() == blas::Scalar::c;
  return single ? api::compute_32f : api::compute_64f;
}

/// Calls visit(size, routine, arguments...) with the two functions of the routine, and the arguments that they share.
template <class Visit>
int ProductCalls::call(const Visit& visit) const {
  const blas::Scalar scalar = call_.scalar();
  const HostScalar alpha(call_.alpha, scalar);
  const HostScalar beta(call_.beta, scalar);
  const int op_a = cuda::operation(call_.transpose_a, scalar);
  constexpr api::Size first = 1;
  switch (call_.kind()) {
    case blas::Kind::gemm:
      return visit(library_.cublasMpGemm_bufferSize, library_.cublasMpGemm, handle_, op_a,
                   cuda::operation(call_.transpose_b, scalar), call_.m, call_.n, call_.k, alpha.address(), part(0),
                   first, first, matrices_[0], part(1), first, first, matrices_[1], beta.address(), part(2), first,
                   first, matrices_[2]);
    case blas::Kind::trsm:
      return visit(library_.cublasMpTrsm_bufferSize, library_.cublasMpTrsm, handle_, side(call_), fill(call_), op_a,
                   diagonal(call_), call_.m, call_.n, alpha.address(), part(0), first, first, matrices_[0], part(1),
                   first, first, matrices_[1]);
    case blas::Kind::syrk:
      return visit(library_.cublasMpSyrk_bufferSize, library_.cublasMpSyrk, handle_, fill(call_), op_a, call_.n,
                   call_.k, alpha.address(), part(0), first, first, matrices_[0], beta.address(), part(1), first, first,
                   matrices_[1]);
    default: return api::blas_mp_not_supported;
  }
}

}  // namespace blastoff::device::gpu::cuda
