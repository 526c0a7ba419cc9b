#include "report/cpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

namespace blastoff::report {
namespace {

using platform::Processor;
using platform::Vectors;

struct KnownKernels {
  std::string_view name;  ///< as the library spells it, in lower case
  Vectors vectors;
};

/// The names that openblas_get_corename() returns (OpenBLAS, driver/others/dynamic.c).
constexpr KnownKernels openblas[] = {{"katmai", Vectors::sse},        {"coppermine", Vectors::sse},
                                     {"northwood", Vectors::sse},     {"prescott", Vectors::sse},
                                     {"banias", Vectors::sse},        {"atom", Vectors::sse},
                                     {"core2", Vectors::sse},         {"penryn", Vectors::sse},
                                     {"dunnington", Vectors::sse},    {"nehalem", Vectors::sse},
                                     {"athlon", Vectors::sse},        {"opteron", Vectors::sse},
                                     {"opteron_sse3", Vectors::sse},  {"barcelona", Vectors::sse},
                                     {"bobcat", Vectors::sse},        {"nano", Vectors::sse},
                                     {"sandybridge", Vectors::avx},   {"bulldozer", Vectors::avx},
                                     {"piledriver", Vectors::avx},    {"steamroller", Vectors::avx},
                                     {"excavator", Vectors::avx},     {"haswell", Vectors::avx2},
                                     {"zen", Vectors::avx2},          {"skylakex", Vectors::avx512},
                                     {"cooperlake", Vectors::avx512}, {"sapphirerapids", Vectors::avx512}};

/// The names that bli_arch_string() returns (BLIS, frame/base/bli_arch.c).
constexpr KnownKernels blis[] = {
    {"generic", Vectors::sse},    {"penryn", Vectors::sse},     {"sandybridge", Vectors::avx},
    {"bulldozer", Vectors::avx},  {"piledriver", Vectors::avx}, {"steamroller", Vectors::avx},
    {"excavator", Vectors::avx2}, {"haswell", Vectors::avx2},   {"zen", Vectors::avx2},
    {"zen2", Vectors::avx2},      {"zen3", Vectors::avx2},      {"skx", Vectors::avx512},
    {"knl", Vectors::avx512},     {"zen4", Vectors::avx512},    {"zen5", Vectors::avx512}};

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return result;
}

Vectors look_up(std::span<const KnownKernels> known, std::string_view kernels) {
  const std::string name = lower(kernels);
  const auto found = std::ranges::find(known, name, &KnownKernels::name);
  return found == known.end() ? Vectors::unknown : found->vectors;
}

/// `processors`: such as "Intel(R) Advanced Vector Extensions 512 (Intel(R) AVX-512) enabled processors".
Vectors vectors_of_mkl(std::string_view processors) {
  const auto names = [&](std::string_view text) { return processors.find(text) != std::string_view::npos; };
  if (names("AVX-512") || names("AVX512")) return Vectors::avx512;
  if (names("AVX2")) return Vectors::avx2;
  if (names("AVX")) return Vectors::avx;
  return names("SSE") ? Vectors::sse : Vectors::unknown;
}

std::string better_coretype(const Processor& processor) {
  if (processor.vectors == Vectors::avx512) return "SkylakeX";
  return processor.made_by_amd ? "Zen" : "Haswell";
}

/// Kernels with AVX2 or more are not held back: whether AVX-512 is faster than AVX2 depends on the processor.
bool is_held_back(Vectors vectors, const Processor& processor) {
  const bool could = processor.vectors == Vectors::avx2 || processor.vectors == Vectors::avx512;
  return could && (vectors == Vectors::sse || vectors == Vectors::avx);
}

std::string advice_of_openblas(CpuLibrary& library, const Processor& processor, std::string_view chosen) {
  const std::string better = better_coretype(processor);
  const std::string_view has = platform::to_string(processor.vectors);
  if (!library.has_several)
    return fmt::format(
        "install an OpenBLAS that chooses its kernels when it is loaded (DYNAMIC_ARCH): this one was "
        "built for {} alone, and the processor has {}",
        library.kernels, has);
  if (lower(chosen) == lower(better))
    return fmt::format("install a newer OpenBLAS: this one has no kernels of the name {}", better);
  library.coretype = better;
  return fmt::format("the processor has {}: set OPENBLAS_CORETYPE={} and compare results (blastoff doctor measures it)",
                     has, better);
}

std::string advice_of(CpuLibrary& library, const Processor& processor, std::string_view chosen) {
  constexpr const char* install = "install an optimised BLAS, such as OpenBLAS (Debian: libopenblas0-pthread)";
  if (library.name == "reference BLAS") return fmt::format("{}: the reference BLAS has no kernels", install);
  if (library.name == "ATLAS")
    return fmt::format("{}: ATLAS has the kernels of the processor that it was built for", install);
  if (!is_held_back(library.vectors, processor)) return "";
  if (library.name == "OpenBLAS") return advice_of_openblas(library, processor, chosen);
  const std::string_view has = platform::to_string(processor.vectors);
  if (library.name == "BLIS")
    return fmt::format(
        "the processor has {}: set BLIS_ARCH_TYPE (blastoff inspect PROGRAM measures a value), or install OpenBLAS",
        has);
  return fmt::format("the processor has {}: unset MKL_ENABLE_INSTRUCTIONS, or install OpenBLAS", has);
}

}  // namespace

Vectors vectors_of(std::string_view library, std::string_view kernels) {
  if (library == "OpenBLAS") return look_up(openblas, kernels);
  if (library == "BLIS") return look_up(blis, kernels);
  return library == "MKL" ? vectors_of_mkl(kernels) : Vectors::unknown;
}

void judge(CpuLibrary& library, const Processor& processor, std::string_view chosen) {
  library.vectors = vectors_of(library.name, library.kernels);
  library.advice = advice_of(library, processor, chosen);
}

std::string describe(const CpuLibrary& library) {
  std::string text = library.name;
  if (!library.version.empty()) text += " " + library.version;
  if (library.kernels.empty()) return text;
  text += ", kernels: " + library.kernels;
  if (library.vectors != Vectors::unknown && library.name != "MKL")
    text += fmt::format(" ({})", platform::to_string(library.vectors));
  return text;
}

}  // namespace blastoff::report
