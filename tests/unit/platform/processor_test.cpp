#include "platform/processor.h"

#include <gtest/gtest.h>

#include <string>

namespace blastoff::platform {
namespace {

constexpr char haswell[] = "sse sse2 avx f16c fma avx2 avx512_bf16";
const std::string skylake = std::string(haswell) + " avx512f avx512dq avx512cd avx512bw avx512vl";

std::string cpuinfo(const std::string& vendor, const std::string& flags) {
  return "processor\t: 0\nvendor_id\t: " + vendor +
         "\nmodel\t\t: 1\nmodel name\t: AMD EPYC 9654 \nflags\t\t: " + flags +
         "\nvmx flags\t: avx512f\n\nprocessor\t: 1\n";
}

Vectors vectors_with(const std::string& flags) {
  return parse_processor(cpuinfo("GenuineIntel", flags)).vectors;
}

TEST(Processor, NameAndVendorAreThoseOfTheFirst) {
  const Processor processor = parse_processor(cpuinfo("AuthenticAMD", skylake));
  EXPECT_EQ(processor.name, "AMD EPYC 9654");
  EXPECT_TRUE(processor.made_by_amd);
  EXPECT_FALSE(parse_processor(cpuinfo("GenuineIntel", skylake)).made_by_amd);
}

TEST(Processor, VectorsAreTheWidestThatKernelsCanUse) {
  EXPECT_EQ(vectors_with("fpu sse sse2"), Vectors::sse);
  EXPECT_EQ(vectors_with("sse2 avx"), Vectors::avx);
  EXPECT_EQ(vectors_with("sse2 avx avx2"), Vectors::avx);  // without fma
  EXPECT_EQ(vectors_with(haswell), Vectors::avx2);
  EXPECT_EQ(vectors_with("fma avx2 avx512f avx512cd"), Vectors::avx2);
  EXPECT_EQ(vectors_with(skylake), Vectors::avx512);
}

TEST(Processor, OfAnotherArchitecture) {
  EXPECT_EQ(parse_processor("processor\t: 0\nFeatures\t: fp asimd evtstrm\n").vectors, Vectors::neon);
  EXPECT_EQ(parse_processor("processor\t: 0\nFeatures\t: fp asimd sve\n").vectors, Vectors::sve);
  EXPECT_EQ(parse_processor("").vectors, Vectors::unknown);
  EXPECT_EQ(parse_processor("flags").name, "");
}

}  // namespace
}  // namespace blastoff::platform
