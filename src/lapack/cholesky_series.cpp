#include "lapack/cholesky_series.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "blas/blocks.h"
#include "blas/element_address.h"
#include "blas/front_end.h"
#include "blas/integer.h"
#include "lapack/problem.h"

namespace blastoff::lapack {
namespace {

using blas::Kind;
using blas::Range;
using blas::Transpose;
using operation::HostVector;
using operation::Operand;
using operation::Operation;

/// A lower triangle is factored by blocks of columns, an upper one by blocks of rows. Here its blocks are those of the
/// lower triangle: `rows` are counted along the triangle's other side.
class Series {
 public:
  explicit Series(const Operation& whole) : whole_(whole), problem_(whole.payload<Problem>()) {}

  std::vector<Operation> of_order(std::int64_t order) && {
    const std::int64_t size = problem_.n;
    for (Range block{0, 0}; block.end < size;) {
      block = {block.end, std::min(size, block.end + order)};
      const Range rest{block.end, size};
      const Range before{0, block.begin};
      if (before.size() > 0) update_square(block, before);
      result_.push_back(square(block));
      if (rest.size() == 0) continue;
      if (before.size() > 0) update_rest(rest, block, before);
      solve_rest(rest, block);
    }
    return std::move(result_);
  }

 private:
  const Operand& a() const { return whole_.operands().front(); }
  void* block(std::int64_t row, std::int64_t column) const {
    return problem_.upper() ? blas::element_address(a(), column, row) : blas::element_address(a(), row, column);
  }
  Transpose adjoint() const {
    return blas::is_complex(problem_.scalar()) ? Transpose::conjugate : Transpose::transpose;
  }

  Operation square(Range block) const {
    Problem problem = problem_;
    problem.m = problem.n = block.size();
    Operation result(whole_.front_end(), whole_.routine(), problem);
    result.work = work(problem);
    result.may_fail = true;
    Operand part = a();
    part.address = blas::element_address(a(), block.begin, block.begin);
    part.rows = part.columns = block.size();
    result.add(part);
    for (const HostVector& vector : whole_.vectors()) result.add(vector);
    return result;
  }

  template <std::size_t count>
  void add(blas::Call call, Kind kind, const std::array<void*, count>& addresses) {
    call.routine = blas::routine_of(kind, problem_.scalar());
    std::array<std::int64_t, count> leading_dimensions{};
    leading_dimensions.fill(a().leading_dimension);
    blas::shape_operands(call, addresses, leading_dimensions);
    result_.push_back(blas::operation_of(call));
  }

  void update_square(Range to, Range before) {
    blas::Call call;
    call.uplo = problem_.upper() ? blas::Uplo::upper : blas::Uplo::lower;
    call.transpose_a = problem_.upper() ? adjoint() : Transpose::none;
    call.m = call.n = to.size();
    call.k = before.size();
    call.alpha = -1;
    call.beta = 1;
    add<2>(call, blas::is_complex(problem_.scalar()) ? Kind::herk : Kind::syrk,
           {block(to.begin, before.begin), block(to.begin, to.begin)});
  }

  void update_rest(Range rest, Range columns, Range before) {
    blas::Call call;
    call.k = before.size();
    call.alpha = -1;
    call.beta = 1;
    call.m = rest.size();
    call.n = columns.size();
    void* first = block(rest.begin, before.begin);
    void* second = block(columns.begin, before.begin);
    if (problem_.upper()) {
      std::swap(call.m, call.n);
      std::swap(first, second);
      call.transpose_a = adjoint();
    } else {
      call.transpose_b = adjoint();
    }
    add<3>(call, Kind::gemm, {first, second, block(rest.begin, columns.begin)});
  }

  void solve_rest(Range rest, Range columns) {
    blas::Call call;
    call.uplo = problem_.upper() ? blas::Uplo::upper : blas::Uplo::lower;
    call.side = problem_.upper() ? blas::Side::left : blas::Side::right;
    call.transpose_a = adjoint();
    call.m = rest.size();
    call.n = columns.size();
    if (problem_.upper()) std::swap(call.m, call.n);
    call.alpha = 1;
    add<2>(call, Kind::trsm, {block(columns.begin, columns.begin), block(rest.begin, columns.begin)});
  }

  const Operation& whole_;
  const Problem problem_;
  std::vector<Operation> result_;
};

void* info_address(const Operation& operation) {
  return operation.vectors()[vector_index(operation.payload<Problem>().routine, Argument::info)].address;
}

}  // namespace

bool is_cholesky(const Operation& operation) {
  return is_lapack(operation) && operation.payload<Problem>().kind() == lapack::Kind::potrf;
}

std::vector<Operation> cholesky_series(const Operation& whole, std::int64_t order) {
  return Series(whole).of_order(std::max<std::int64_t>(order, 1));
}

std::vector<std::vector<Operation>> cholesky_blocks(const Operation& whole, std::size_t bytes) {
  const Operand& a = whole.operands().front();
  const double elements = static_cast<double>(bytes) / 2 / static_cast<double>(a.element_size);
  const auto most = std::max<std::int64_t>(static_cast<std::int64_t>(std::sqrt(elements)), 1);
  if (a.columns <= most) return {{whole}};
  constexpr std::int64_t even = 16;  // devices are faster on multiples of it
  const std::int64_t count = (a.columns - 1) / most + 1;
  const std::int64_t order = std::min(((a.columns - 1) / count / even + 1) * even, most);
  std::vector<std::vector<Operation>> result;
  for (Operation& operation : cholesky_series(whole, order)) {
    if (is_cholesky(operation)) {
      result.push_back({operation});
      continue;
    }
    for (auto& series : operation::blocks(operation, bytes)) result.push_back(std::move(series));
  }
  return result;
}

std::int64_t info_of(const Operation& operation) {
  return blas::integer_at(info_address(operation), operation.payload<Problem>().integer_bytes);
}

void move_info(const Operation& whole, const Operation& part) {
  const Operand& a = whole.operands().front();
  const auto bytes = static_cast<const char*>(part.operands().front().address) - static_cast<const char*>(a.address);
  const std::int64_t before = bytes / static_cast<std::int64_t>(a.stride_bytes() + a.element_size);
  blas::put_integer(info_address(whole), info_of(part) + before, whole.payload<Problem>().integer_bytes);
}

}  // namespace blastoff::lapack
