#include "report/cpu.h"

#include <gtest/gtest.h>

#include <string>

namespace blastoff::report {
namespace {

using platform::Processor;
using platform::Vectors;

Processor processor(Vectors vectors, bool made_by_amd = false) {
  return {.name = "", .made_by_amd = made_by_amd, .vectors = vectors};
}

CpuLibrary judged(const char* name, const char* kernels, const Processor& processor, const char* chosen = "",
                  bool has_several = true) {
  CpuLibrary library;
  library.name = name;
  library.kernels = kernels;
  library.has_several = has_several;
  judge(library, processor, chosen);
  return library;
}

TEST(Cpu, OldKernelsOfOpenBlasAreToBeReplacedByThoseOfTheProcessor) {
  EXPECT_EQ(judged("OpenBLAS", "Prescott", processor(Vectors::avx512)).coretype, "SkylakeX");
  EXPECT_EQ(judged("OpenBLAS", "Prescott", processor(Vectors::avx512, true)).coretype, "SkylakeX");
  EXPECT_EQ(judged("OpenBLAS", "Sandybridge", processor(Vectors::avx2)).coretype, "Haswell");
  EXPECT_EQ(judged("OpenBLAS", "Barcelona", processor(Vectors::avx2, true)).coretype, "Zen");
  EXPECT_NE(judged("OpenBLAS", "Barcelona", processor(Vectors::avx2, true)).advice.find("OPENBLAS_CORETYPE=Zen"),
            std::string::npos);
}

TEST(Cpu, KernelsThatFitNeedNoAdvice) {
  for (const char* kernels : {"Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids", "of_tomorrow", ""})
    EXPECT_EQ(judged("OpenBLAS", kernels, processor(Vectors::avx512)).advice, "") << kernels;
  EXPECT_EQ(judged("OpenBLAS", "Prescott", processor(Vectors::avx)).advice, "");
  EXPECT_EQ(judged("OpenBLAS", "neoversev2", processor(Vectors::sve)).advice, "");
  EXPECT_EQ(judged("BLIS", "zen3", processor(Vectors::avx2)).advice, "");
}

TEST(Cpu, WhereTheVariableCannotHelpAnotherLibraryIsToBeInstalled) {
  for (const CpuLibrary& library :
       {judged("OpenBLAS", "Prescott", processor(Vectors::avx2), "haswell"),
        judged("OpenBLAS", "Nehalem", processor(Vectors::avx512), "", false),
        judged("reference BLAS", "", processor(Vectors::neon)), judged("ATLAS", "", processor(Vectors::avx2))}) {
    EXPECT_EQ(library.coretype, "");
    EXPECT_TRUE(library.advice.starts_with("install")) << library.advice;
  }
}

TEST(Cpu, ABlisThatDoesNotKnowTheProcessorHasAVariable) {
  EXPECT_EQ(judged("BLIS", "generic", processor(Vectors::avx2)).advice,
            "the processor has AVX2: set BLIS_ARCH_TYPE (blastoff inspect PROGRAM measures a value), or install "
            "OpenBLAS");
}

TEST(Cpu, LibrariesAreDescribedInAPhrase) {
  CpuLibrary library = judged("OpenBLAS", "Haswell", processor(Vectors::avx2));
  library.version = "0.3.21";
  EXPECT_EQ(describe(library), "OpenBLAS 0.3.21, kernels: Haswell (AVX2)");
  EXPECT_EQ(describe(judged("reference BLAS", "", processor(Vectors::avx2))), "reference BLAS");
}

}  // namespace
}  // namespace blastoff::report
