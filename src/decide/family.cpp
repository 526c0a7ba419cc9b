#include "decide/family.h"

#include <algorithm>
#include <array>

namespace blastoff::decide {
namespace {

constexpr std::array<std::string_view, family_count> family_names = {"gemm",  "syrk",  "trsm",  "gemv",  "getrf",
                                                                     "potrf", "geqrf", "syevd", "gesdd", "fft"};
constexpr std::string_view precision_names = "sdcz";

struct Member {
  std::string_view name;  ///< name of the routine without its letter for the precision
  Family family;
};

/// BLAS level 3, level 2, LAPACK. Solving with a factorization counts as solving with triangles.
constexpr Member members[] = {
    {"gemm", Family::gemm},       {"gemm3m", Family::gemm},
    {"gemm_batch", Family::gemm}, {"gemm_batch_strided", Family::gemm},
    {"symm", Family::gemm},       {"hemm", Family::gemm},
    {"gemmt", Family::syrk},      {"gemmtr", Family::syrk},
    {"syrk", Family::syrk},       {"herk", Family::syrk},
    {"syr2k", Family::syrk},      {"her2k", Family::syrk},
    {"trmm", Family::trsm},       {"trsm", Family::trsm},
    {"trsm_batch", Family::trsm}, {"trsm_batch_strided", Family::trsm},
    {"gemv", Family::gemv},       {"symv", Family::gemv},
    {"hemv", Family::gemv},       {"getrf", Family::getrf},
    {"gesv", Family::getrf},      {"getri", Family::getrf},
    {"getrs", Family::trsm},      {"potrs", Family::trsm},
    {"trtrs", Family::trsm},      {"trtri", Family::trsm},
    {"potrf", Family::potrf},     {"posv", Family::potrf},
    {"potri", Family::potrf},     {"geqrf", Family::geqrf},
    {"orgqr", Family::geqrf},     {"ungqr", Family::geqrf},
    {"ormqr", Family::geqrf},     {"unmqr", Family::geqrf},
    {"gels", Family::geqrf},      {"syev", Family::syevd},
    {"heev", Family::syevd},      {"syevd", Family::syevd},
    {"heevd", Family::syevd},     {"syevr", Family::syevd},
    {"heevr", Family::syevd},     {"syevx", Family::syevd},
    {"heevx", Family::syevd},     {"sygv", Family::syevd},
    {"hegv", Family::syevd},      {"sygvd", Family::syevd},
    {"hegvd", Family::syevd},     {"sygvx", Family::syevd},
    {"hegvx", Family::syevd},     {"spev", Family::syevd},
    {"hpev", Family::syevd},      {"spevd", Family::syevd},
    {"hpevd", Family::syevd},     {"spevx", Family::syevd},
    {"hpevx", Family::syevd},     {"spgv", Family::syevd},
    {"hpgv", Family::syevd},      {"spgvd", Family::syevd},
    {"hpgvd", Family::syevd},     {"spgvx", Family::syevd},
    {"hpgvx", Family::syevd},     {"gesdd", Family::gesdd},
    {"gesvd", Family::gesdd},     {"gelsd", Family::gesdd},
    {"gelss", Family::gesdd},     {"sytrf", Family::getrf},
    {"sysv", Family::getrf},      {"sytrs", Family::trsm},
    {"sygst", Family::trsm},      {"hegst", Family::trsm},
};

}  // namespace

std::optional<Family> family_named(std::string_view name) {
  const auto* const found = std::ranges::find(family_names, name);
  if (found == family_names.end()) return std::nullopt;
  return static_cast<Family>(found - family_names.begin());
}

std::optional<Precision> precision_named(std::string_view name) {
  const std::size_t position = name.size() == 1 ? precision_names.find(name.front()) : std::string_view::npos;
  if (position == std::string_view::npos) return std::nullopt;
  return static_cast<Precision>(position);
}

std::optional<RateKey> rate_key_of(std::string_view routine) {
  if (routine.starts_with("fftwf_"))
    return RateKey{Family::fft, routine.ends_with("dft") ? Precision::c : Precision::s};
  if (routine.starts_with("fftw_")) return RateKey{Family::fft, routine.ends_with("dft") ? Precision::z : Precision::d};
  if (routine.starts_with("pocketfft_") || routine.starts_with("dfti_")) {
    const bool narrow = routine.ends_with("c2c") || routine.ends_with("r2c") || routine.ends_with("c2r");
    if (routine.ends_with("c2c") || routine.ends_with("z2z"))
      return RateKey{Family::fft, narrow ? Precision::c : Precision::z};
    return RateKey{Family::fft, narrow ? Precision::s : Precision::d};
  }
  if (routine.empty()) return std::nullopt;
  const auto precision = precision_named(routine.substr(0, 1));
  const auto* const member = std::ranges::find(members, routine.substr(1), &Member::name);
  if (!precision || member == std::end(members)) return std::nullopt;
  return RateKey{member->family, *precision};
}

}  // namespace blastoff::decide
