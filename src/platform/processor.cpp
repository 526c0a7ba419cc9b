#include "platform/processor.h"

#include <algorithm>
#include <fstream>
#include <initializer_list>

namespace blastoff::platform {
namespace {

/// The text behind the colon in the first line of that name, with a space at either end; "" if there is no such line.
std::string value_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t colon = line.find(':');
    if (!line.starts_with(name) || colon == std::string_view::npos) continue;
    if (line.substr(name.size(), colon - name.size()).find_first_not_of(" \t") != std::string_view::npos) continue;
    return std::string(line.substr(colon + 1)) + " ";
  }
  return "";
}

std::string trimmed(const std::string& value) {
  const std::size_t begin = value.find_first_not_of(' ');
  return begin == std::string::npos ? "" : value.substr(begin, value.find_last_not_of(' ') + 1 - begin);
}

/// Kernels for AVX2 use fused multiply-add; kernels for AVX-512 use all extensions that Skylake has.
Vectors vectors_of(const std::string& flags) {
  const auto has = [&](std::initializer_list<const char*> names) {
    return std::all_of(names.begin(), names.end(), [&](const char* name) {
      return flags.find(std::string(" ") + name + " ") != std::string::npos;
    });
  };
  if (has({"avx2", "fma", "avx512f", "avx512cd", "avx512dq", "avx512bw", "avx512vl"})) return Vectors::avx512;
  if (has({"avx2", "fma"})) return Vectors::avx2;
  if (has({"avx"})) return Vectors::avx;
  if (has({"sse2"})) return Vectors::sse;
  if (has({"sve"})) return Vectors::sve;
  return has({"asimd"}) ? Vectors::neon : Vectors::unknown;
}

}  // namespace

const char* to_string(Vectors vectors) {
  switch (vectors) {
    case Vectors::unknown: return "";
    case Vectors::sse: return "SSE";
    case Vectors::avx: return "AVX";
    case Vectors::avx2: return "AVX2";
    case Vectors::avx512: return "AVX-512";
    case Vectors::neon: return "NEON";
    case Vectors::sve: return "SVE";
  }
  return "";
}

Processor parse_processor(std::string_view text) {
  std::string flags = value_of(text, "flags");
  if (flags.empty()) flags = value_of(text, "Features");
  return {.name = trimmed(value_of(text, "model name")),
          .made_by_amd = trimmed(value_of(text, "vendor_id")) == "AuthenticAMD",
          .vectors = vectors_of(flags)};
}

Processor processor() {
  constexpr std::size_t enough_for_one = 8192;
  std::ifstream file("/proc/cpuinfo", std::ios::binary);
  std::string text(enough_for_one, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse_processor(text);
}

}  // namespace blastoff::platform
