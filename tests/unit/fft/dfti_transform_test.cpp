// Descriptors of DFTI, described by a function that stands for MKL's DftiGetValue.
#include "fft/dfti_transform.h"

#include <gtest/gtest.h>

#include <cstdarg>
#include <cstring>
#include <map>
#include <vector>

namespace blastoff::fft {
namespace {

using namespace dfti_codes;

/// The answers of a descriptor; MKL refuses all other questions.
struct FakeDescriptor {
  std::map<int, std::vector<long>> integers;
  std::map<int, double> scales;
  bool single = false;
};

long answer(void* descriptor, int parameter, ...) {
  const auto& fake = *static_cast<FakeDescriptor*>(descriptor);
  std::va_list rest;
  va_start(rest, parameter);
  void* const value = va_arg(rest, void*);
  va_end(rest);
  if (const auto scale = fake.scales.find(parameter); scale != fake.scales.end()) {
    const auto narrow = static_cast<float>(scale->second);
    fake.single ? std::memcpy(value, &narrow, sizeof narrow) : std::memcpy(value, &scale->second, sizeof(double));
    return 0;
  }
  const auto found = fake.integers.find(parameter);
  if (found == fake.integers.end()) return 3;
  std::memcpy(value, found->second.data(), found->second.size() * sizeof(long));
  return 0;
}

/// Two planes of 4 x 6 complex numbers in double precision, into another array.
FakeDescriptor planes() {
  FakeDescriptor fake;
  fake.integers = {{domain, {complex_domain}},
                   {dimension, {2}},
                   {lengths, {4, 6}},
                   {precision, {double_precision}},
                   {number_of_transforms, {2}},
                   {complex_storage, {complex_numbers}},
                   {conjugate_even_storage, {complex_numbers}},
                   {placement, {not_in_place}},
                   {ordering, {ordered}},
                   {transposition, {not_transposed}},
                   {commit_status, {committed}},
                   {forward_strides, {0, 6, 1}},
                   {backward_strides, {0, 8, 1}},
                   {forward_distance, {24}},
                   {backward_distance, {32}}};
  fake.scales = {{forward_scale, 1}, {backward_scale, 0.125}};
  return fake;
}

std::optional<DftiTransform> read(FakeDescriptor fake, int sign) {
  return transform_of_descriptor(&answer, &fake, sign);
}

TEST(DftiTransform, DomainsHaveTheirLayoutsInBothDirections) {
  const auto forward = read(planes(), -1);
  ASSERT_TRUE(forward && forward->whole);
  EXPECT_EQ(forward->whole->dims.all()[0], (Dimension{4, 6, 8}));
  EXPECT_EQ(forward->whole->batches.all()[0], (Dimension{2, 24, 32}));
  EXPECT_EQ(forward->whole->factor, 1);
  const auto backward = read(planes(), 1);
  ASSERT_TRUE(backward && backward->whole);
  EXPECT_EQ(backward->whole->dims.all()[0], (Dimension{4, 8, 6}));
  EXPECT_EQ(backward->whole->batches.all()[0], (Dimension{2, 32, 24}));
  EXPECT_EQ(backward->whole->factor, 0.125);
}

TEST(DftiTransform, InputAndOutputHaveTheirLayoutsWhateverTheDirection) {
  FakeDescriptor fake = planes();
  fake.integers[input_strides] = {0, 10, 1};
  fake.integers[output_strides] = {0, 12, 1};
  fake.integers[input_distance] = {40};
  fake.integers[output_distance] = {48};
  for (const int name : {forward_strides, backward_strides}) fake.integers[name] = {0, 0, 0};
  for (const int name : {forward_distance, backward_distance}) fake.integers[name] = {0};
  for (const int sign : {-1, 1}) {
    const auto found = read(fake, sign);
    ASSERT_TRUE(found && found->whole);
    EXPECT_EQ(found->whole->dims.all()[0], (Dimension{4, 10, 12}));
    EXPECT_EQ(found->whole->batches.all()[0], (Dimension{2, 40, 48}));
  }
}

TEST(DftiTransform, TheScaleHasThePrecisionOfTheTransform) {
  FakeDescriptor fake = planes();
  fake.single = true;
  fake.integers[precision] = {single_precision};
  const auto found = read(fake, 1);
  ASSERT_TRUE(found && found->whole);
  EXPECT_EQ(found->whole->factor, 0.125);
}

TEST(DftiTransform, AFormThatNoDeviceComputesHasSizesOnly) {
  const std::vector<std::pair<int, std::vector<long>>> forms = {{complex_storage, {42}},
                                                                {ordering, {49}},
                                                                {transposition, {51}},
                                                                {forward_strides, {3, 6, 1}},
                                                                {forward_strides, {0, -6, 1}}};
  for (const auto& [name, value] : forms) {
    FakeDescriptor fake = planes();
    fake.integers[name] = value;
    const auto found = read(fake, -1);
    ASSERT_TRUE(found) << name;
    EXPECT_FALSE(found->whole) << name;
    EXPECT_EQ(found->sizes.points(), 48) << name;
  }
}

TEST(DftiTransform, AnUncommittedDescriptorHasNoTransform) {
  FakeDescriptor fake = planes();
  fake.integers[commit_status] = {31};
  EXPECT_FALSE(read(fake, -1));
  fake = planes();
  fake.integers.erase(lengths);
  EXPECT_FALSE(read(fake, -1));
}

}  // namespace
}  // namespace blastoff::fft
