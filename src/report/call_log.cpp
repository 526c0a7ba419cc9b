#include "report/call_log.h"

#include <fmt/format.h>

#include <iterator>

#include "platform/log.h"
#include "report/quantity.h"

namespace blastoff::report {

namespace {

using Line = std::back_insert_iterator<std::string>;

char letter(blas::Side side) {
  return side == blas::Side::left ? 'L' : 'R';
}
char letter(blas::Uplo uplo) {
  return uplo == blas::Uplo::upper ? 'U' : 'L';
}
char letter(blas::Diagonal diagonal) {
  return diagonal == blas::Diagonal::unit ? 'U' : 'N';
}
char letter(blas::Transpose transpose) {
  switch (transpose) {
    case blas::Transpose::none: return 'N';
    case blas::Transpose::transpose: return 'T';
    case blas::Transpose::conjugate: return 'C';
  }
  return '?';
}

/// Option letters and dimensions in the order of the routine's own argument list.
void write_arguments(Line line, const blas::Call& call) {
  switch (call.kind()) {
    case blas::Kind::gemm:
      fmt::format_to(line, " {} {} m={} n={} k={}", letter(call.transpose_a), letter(call.transpose_b), call.m, call.n,
                     call.k);
      break;
    case blas::Kind::gemmt:
      fmt::format_to(line, " {} {} {} n={} k={}", letter(call.uplo), letter(call.transpose_a), letter(call.transpose_b),
                     call.n, call.k);
      break;
    case blas::Kind::symm:
    case blas::Kind::hemm:
      fmt::format_to(line, " {} {} m={} n={}", letter(call.side), letter(call.uplo), call.m, call.n);
      break;
    case blas::Kind::syrk:
    case blas::Kind::herk:
    case blas::Kind::syr2k:
    case blas::Kind::her2k:
      fmt::format_to(line, " {} {} n={} k={}", letter(call.uplo), letter(call.transpose_a), call.n, call.k);
      break;
    case blas::Kind::trmm:
    case blas::Kind::trsm:
      fmt::format_to(line, " {} {} {} {} m={} n={}", letter(call.side), letter(call.uplo), letter(call.transpose_a),
                     letter(call.diagonal), call.m, call.n);
      break;
  }
}

void write_traffic(Line line, const Record& record) {
  if (record.bytes_to_device > 0) fmt::format_to(line, ", {} to device", format_bytes(record.bytes_to_device));
  if (record.bytes_from_device > 0) fmt::format_to(line, ", {} back", format_bytes(record.bytes_from_device));
  if (record.bytes_reused > 0) fmt::format_to(line, ", {} reused", format_bytes(record.bytes_reused));
}

}  // namespace

std::string call_line(const Record& record, const blas::Call* call) {
  std::string text = record.symbol;
  const Line line(text);
  if (call != nullptr) write_arguments(line, *call);
  if (record.refusal == Refusal::none) {
    fmt::format_to(line, ": device ({}), {}", record.policy, format_duration(record.seconds));
  } else {
    fmt::format_to(line, ": CPU ({}), {}", refusal_text(record.refusal), format_duration(record.seconds));
  }
  if (record.transfer_seconds > 0) {
    fmt::format_to(line, " ({} waiting for data)", format_duration(record.transfer_seconds));
  }
  write_traffic(line, record);
  if (record.verified) fmt::format_to(line, ", error {:.1e}", record.relative_error);
  if (record.stale_pages > 0) fmt::format_to(line, ", {} STALE PAGES", record.stale_pages);
  return text;
}

void log_call(const Record& record, const blas::Call* call) {
  platform::log_line("%s", call_line(record, call).c_str());
}

}  // namespace blastoff::report
