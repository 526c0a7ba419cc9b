#include "device/gpu/cuda/cusolver/solver.h"

#include <cstring>

#include <fmt/format.h>
#include "device/gpu/cuda/driver.h"

namespace blastoff::device::gpu::cuda {
namespace {

/// The layout of the memory for checks, in bytes.
constexpr std::size_t info_offset = 0;
constexpr std::size_t magnitude_offset = 8;
constexpr std::size_t checks_bytes = 16;

Address address_of(const Operand& matrix) {
  return reinterpret_cast<std::uintptr_t>(matrix.address);
}

template <class Element>
std::vector<std::complex<double>> widen(std::span<const std::byte> bytes) {
  std::vector<std::complex<double>> elements(bytes.size() / sizeof(Element));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    Element element;
    std::memcpy(static_cast<void*>(&element), bytes.data() + i * sizeof element, sizeof element);
    elements[i] = std::complex<double>(element);
  }
  return elements;
}

void* pointer(Address address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

}  // namespace

Result<std::unique_ptr<Solver>> Solver::create(const Libraries& libraries, const ExecutorStream& stream,
                                               std::shared_ptr<const MatrixKernels> kernels) {
  std::unique_ptr<Solver> solver(new Solver(libraries, stream, std::move(kernels)));
  if (auto ok = solver->configure(); !ok) return tl::unexpected(ok.error());
  return solver;
}

Status Solver::configure() {
  if (auto ok = check(cusolver().cusolverDnCreate(&handle_), "cusolverDnCreate"); !ok) return ok;
  if (auto ok = check(cusolver().cusolverDnSetStream(handle_, stream_.stream), "cusolverDnSetStream"); !ok) return ok;
  return check(cusolver().cusolverDnCreateParams(&params_), "cusolverDnCreateParams");
}

Solver::~Solver() {
  if (params_ != nullptr) cusolver().cusolverDnDestroyParams(params_);
  if (handle_ != nullptr) cusolver().cusolverDnDestroy(handle_);
}

Result<const BlasHandle*> Solver::cublas() {
  if (blas_handle_ != nullptr) return blas_handle_.get();
  const Result<api::Cublas>& cublas = libraries_.cublas;
  if (!cublas) return tl::unexpected(Error{ErrorKind::unsupported, cublas.error().message});
  auto handle = BlasHandle::create(*cublas, stream_);
  if (!handle) return tl::unexpected(handle.error());
  blas_handle_ = std::move(*handle);
  return blas_handle_.get();
}

Status Solver::check(api::cusolverStatus status, std::string_view name) {
  if (status == api::solver_success) [[likely]]
    return {};
  auto message = fmt::format("cuSOLVER's {}: status {}", name, status);
  switch (status) {
    case api::solver_alloc_failed: return tl::unexpected(Error{ErrorKind::out_of_memory, std::move(message)});
    case api::solver_invalid_value:
    case api::solver_arch_mismatch:
    case api::solver_type_not_supported:
    case api::solver_not_supported: return tl::unexpected(Error{ErrorKind::unsupported, std::move(message)});
    default: break;
  }
  if (auto alive = synchronize(); !alive) return alive;
  return tl::unexpected(Error{ErrorKind::failed, std::move(message)});
}

Status Solver::provide(LibrarySpace& space) {
  const auto checks = workspace_.device(Purpose::checks, checks_bytes);
  if (!checks) return tl::unexpected(checks.error());
  const auto device = workspace_.device(Purpose::library, space.device_bytes);
  if (!device) return tl::unexpected(device.error());
  const auto host = workspace_.host(SolverWorkspace::HostPurpose::library, space.host_bytes);
  if (!host) return tl::unexpected(host.error());
  space.device = pointer(*device);
  space.host = *host;
  space.info = static_cast<int*>(pointer(*checks + info_offset));
  return stream_.context->check(driver().set_bytes(*checks + info_offset, 0, sizeof *space.info, stream_.stream),
                                "cuMemsetD8Async");
}

Status Solver::finish(std::string_view name) {
  const auto checks = workspace_.device(Purpose::checks, checks_bytes);
  if (!checks) return tl::unexpected(checks.error());
  int info = 0;
  if (auto ok = copy_to_host(&info, *checks + info_offset, sizeof info); !ok) return ok;
  if (info == 0) return {};
  return tl::unexpected(Error{ErrorKind::failed, fmt::format("cuSOLVER's {}: info = {}", name, info)});
}

Result<Operand> Solver::matrix(Purpose purpose, std::int64_t rows, std::int64_t columns, std::size_t element_size) {
  Operand matrix{.rows = rows, .columns = columns, .leading_dimension = rows, .element_size = element_size};
  const auto memory = workspace_.device(purpose, matrix.span_bytes());
  if (!memory) return tl::unexpected(memory.error());
  matrix.address = pointer(*memory);
  return matrix;
}

Result<Operand> Solver::copy_of(const Operand& matrix, Purpose purpose) {
  auto copied = this->matrix(purpose, matrix.rows, matrix.columns, matrix.element_size);
  if (!copied) return copied;
  copied->part = matrix.part;
  if (auto ok = copy(*copied, matrix); !ok) return tl::unexpected(ok.error());
  return copied;
}

Result<Operand> Solver::without_gaps(const Operand& result, Purpose purpose) {
  if (result.empty() || result.contiguous()) return result;
  return matrix(purpose, result.rows, result.columns, result.element_size);
}

Status Solver::copy(const Operand& to, const Operand& from) {
  if (from.empty() || from.address == to.address) return {};
  if (from.part == operation::Part::full) return copy_rectangle(to, from);
  return stream_.kernel->launch({.destination = address_of(to),
                                 .source = address_of(from),
                                 .destination_pitch = to.stride_bytes(),
                                 .source_pitch = from.stride_bytes(),
                                 .order = from.columns,
                                 .block_order = from.columns,
                                 .element_size = from.element_size,
                                 .part = from.part},
                                stream_.stream);
}

Status Solver::copy_rectangle(const Operand& to, const Operand& from) {
  // If the GPU has access to host memory, an operand may be in the program's memory.
  RectangleCopy copy;
  copy.source_type = api::memory_type_unified;
  copy.source = address_of(from);
  copy.source_pitch = from.stride_bytes();
  copy.destination_type = api::memory_type_unified;
  copy.destination = address_of(to);
  copy.destination_pitch = to.stride_bytes();
  copy.width_bytes = from.column_bytes();
  copy.height = static_cast<std::size_t>(from.columns);
  // An attempt: columns may be farther apart than the largest pitch.
  return stream_.context->check_attempt(driver().copy_rectangle(&copy, stream_.stream), "2-D copy on the GPU");
}

Status Solver::transpose(const Operand& to, const Operand& from, blas::Scalar scalar) {
  return kernels_->transpose->launch(to, from, scalar, stream_.stream);
}

Status Solver::set_to_identity(const Operand& matrix, blas::Scalar scalar) {
  const bool single = scalar == blas::Scalar::s || scalar == blas::Scalar::c;
  const Address first = address_of(matrix);
  if (auto ok =
          stream_.context->check(driver().set_bytes(first, 0, matrix.span_bytes(), stream_.stream), "cuMemsetD8Async");
      !ok) {
    return ok;
  }
  // Writing the upper half of a double turns 0 into 1.
  const unsigned one = single ? 0x3f800000 : 0x3ff00000;
  const std::size_t offset = single ? 0 : 4;
  return stream_.context->check_attempt(
      functions().cuMemsetD2D32Async(first + offset, matrix.stride_bytes() + matrix.element_size, one, 1,
                                     static_cast<std::size_t>(matrix.columns), stream_.stream),
      "cuMemsetD2D32Async");
}

Result<std::vector<std::complex<double>>> Solver::elements(const Operand& matrix, blas::Scalar scalar) {
  std::vector<std::byte> bytes(matrix.payload_bytes());
  if (auto ok = copy_to_host(bytes.data(), address_of(matrix), bytes.size()); !ok) return tl::unexpected(ok.error());
  switch (scalar) {
    case blas::Scalar::s: return widen<float>(bytes);
    case blas::Scalar::d: return widen<double>(bytes);
    case blas::Scalar::c: return widen<std::complex<float>>(bytes);
    case blas::Scalar::z: break;
  }
  return widen<std::complex<double>>(bytes);
}

Status Solver::copy_to_pages(void* to, Address from, std::size_t bytes) {
  auto copied = stream_.context->check(driver().copy_to_host(to, from, bytes, stream_.stream), "copy from the GPU");
  return copied ? synchronize() : copied;
}

Status Solver::copy_to_host(void* to, Address from, std::size_t bytes) {
  const auto own = workspace_.host(SolverWorkspace::HostPurpose::transfers, bytes);
  if (!own) return tl::unexpected(own.error());
  auto copied = copy_to_pages(*own, from, bytes);
  if (copied) std::memcpy(to, *own, bytes);
  return copied;
}

Status Solver::copy_to_device(Address to, const void* from, std::size_t bytes) {
  const auto own = workspace_.host(SolverWorkspace::HostPurpose::transfers, bytes);
  if (!own) return tl::unexpected(own.error());
  std::memcpy(*own, from, bytes);
  auto copied = stream_.context->check(driver().copy_to_device(to, *own, bytes, stream_.stream), "copy to the GPU");
  return copied ? synchronize() : copied;
}

Result<double> Solver::largest_magnitude(std::span<const Operand> matrices, blas::Scalar scalar) {
  const auto checks = workspace_.device(Purpose::checks, checks_bytes);
  if (!checks) return tl::unexpected(checks.error());
  const Address result = *checks + magnitude_offset;
  std::uint64_t bits = 0;
  auto cleared = stream_.context->check(driver().set_bytes(result, 0, sizeof bits, stream_.stream), "cuMemsetD8Async");
  if (!cleared) return tl::unexpected(cleared.error());
  for (const Operand& matrix : matrices) {
    if (auto ok = kernels_->magnitude->launch(matrix, scalar, result, stream_.stream); !ok)
      return tl::unexpected(ok.error());
  }
  if (auto ok = copy_to_host(&bits, result, sizeof bits); !ok) return tl::unexpected(ok.error());
  return MagnitudeKernel::value(bits, scalar);
}

Result<std::vector<double>> Solver::reduce(const Operand& matrix, blas::Scalar scalar,
                                           const NormKernel::Reduction& reduction) {
  std::vector<double> parts(NormKernel::result_count(matrix, reduction));
  const std::size_t bytes = parts.size() * sizeof parts[0];
  const auto result = workspace_.device(Purpose::vector, bytes);
  if (!result) return tl::unexpected(result.error());
  if (auto ok = kernels_->norm->launch(matrix, scalar, reduction, *result, stream_.stream); !ok)
    return tl::unexpected(ok.error());
  if (auto ok = copy_to_host(parts.data(), *result, bytes); !ok) return tl::unexpected(ok.error());
  return parts;
}

Status Solver::synchronize() {
  return stream_.context->check(driver().synchronize_stream(stream_.stream), "cuStreamSynchronize");
}

}  // namespace blastoff::device::gpu::cuda
