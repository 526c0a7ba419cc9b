// Contractions against plain loops, on the host and on devices.
#include "blocks/contraction.h"

#include <algorithm>
#include <complex>
#include <map>
#include <random>

#include "rig.h"

namespace blastoff::blocks {
namespace {

struct Labels {
  std::string a, b, c;
};

using Extents = std::map<char, long long>;

std::vector<long long> extents_of(const std::string& labels, const Extents& extents) {
  std::vector<long long> result;
  for (const char label : labels) result.push_back(extents.at(label));
  return result;
}

std::size_t offset(const std::string& labels, const Extents& extents, const std::map<char, long long>& index) {
  std::size_t stride = 1;
  std::size_t sum = 0;
  for (const char label : labels) {
    sum += stride * static_cast<std::size_t>(index.at(label));
    stride *= static_cast<std::size_t>(extents.at(label));
  }
  return sum;
}

template <class T>
std::vector<T> plain(const Labels& labels, const Extents& extents, T alpha, const std::vector<T>& a,
                     const std::vector<T>& b, T beta, std::vector<T> c) {
  for (T& element : c) element = beta == T(0) ? T(0) : element * beta;
  std::map<char, long long> index;
  for (const auto& [label, extent] : extents) index[label] = 0;
  for (;;) {
    c[offset(labels.c, extents, index)] +=
        alpha * a[offset(labels.a, extents, index)] * b[offset(labels.b, extents, index)];
    auto next = index.begin();
    for (; next != index.end() && ++next->second == extents.at(next->first); ++next) next->second = 0;
    if (next == index.end()) return c;
  }
}

template <class T>
constexpr blas::Scalar scalar_of() {
  if constexpr (std::is_same_v<T, float>) return blas::Scalar::s;
  if constexpr (std::is_same_v<T, double>) return blas::Scalar::d;
  if constexpr (std::is_same_v<T, std::complex<float>>) return blas::Scalar::c;
  return blas::Scalar::z;
}

template <class T>
std::vector<T> random_values(std::size_t count, std::mt19937& engine) {
  std::uniform_int_distribution<int> small(-4, 4);  // sums are exact
  std::vector<T> values(count);
  for (T& value : values) {
    if constexpr (std::is_floating_point_v<T>)
      value = static_cast<T>(small(engine));
    else
      value = T(static_cast<typename T::value_type>(small(engine)), static_cast<typename T::value_type>(small(engine)));
  }
  return values;
}

template <class T>
void fill(Block& block, const std::vector<T>& values) {
  const auto address = block.acquire(host_place, Access::write, nullptr);
  ASSERT_DONE(address);
  std::copy(values.begin(), values.end(), at<T>(*address));
  ASSERT_DONE(block.release(host_place, nullptr));
}

template <class T>
std::vector<T> content(Block& block) {
  const auto address = block.acquire(host_place, Access::read, nullptr);
  EXPECT_DONE(address);
  if (!address) return {};
  std::vector<T> values(at<T>(*address), at<T>(*address) + block.bytes() / sizeof(T));
  EXPECT_DONE(block.release(host_place, nullptr));
  return values;
}

template <class T>
void check(Rig& rig, const Labels& labels, const Extents& extents, T alpha, T beta, int place, std::mt19937& engine) {
  const auto a_extents = extents_of(labels.a, extents);
  const auto b_extents = extents_of(labels.b, extents);
  const auto c_extents = extents_of(labels.c, extents);
  const TensorShape a_shape{labels.a, a_extents};
  const TensorShape b_shape{labels.b, b_extents};
  const TensorShape c_shape{labels.c, c_extents};
  const auto a = random_values<T>(a_shape.elements(), engine);
  const auto b = random_values<T>(b_shape.elements(), engine);
  const auto c = random_values<T>(c_shape.elements(), engine);
  const auto a_block = rig.block(a.size() * sizeof(T));
  const auto b_block = rig.block(b.size() * sizeof(T));
  const auto c_block = rig.block(c.size() * sizeof(T));
  fill(*a_block, a);
  fill(*b_block, b);
  if (beta != T(0)) fill(*c_block, c);
  ASSERT_DONE(contract(rig.engine(), scalar_of<T>(), alpha, {*a_block, a_shape}, {*b_block, b_shape}, beta,
                       {*c_block, c_shape}, place));
  EXPECT_EQ(content<T>(*c_block), plain(labels, extents, alpha, a, b, beta, c))
      << labels.a << ", " << labels.b << " -> " << labels.c << " at " << place;
}

/// Each letter in two of the three, in any order.
Labels random_labels(std::mt19937& engine) {
  Labels labels;
  const std::size_t count = engine() % 7;
  for (std::size_t i = 0; i < count; ++i) {
    const char label = static_cast<char>('a' + i);
    const auto without = engine() % 3;
    if (without != 0) labels.a += label;
    if (without != 1) labels.b += label;
    if (without != 2) labels.c += label;
  }
  for (std::string* text : {&labels.a, &labels.b, &labels.c}) std::shuffle(text->begin(), text->end(), engine);
  return labels;
}

template <class T>
class Contraction : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Contraction, Types);

TYPED_TEST(Contraction, EqualsThePlainLoop) {
  for (const bool delayed : {false, true}) {
    Rig rig({.devices = 2, .delayed = delayed});
    std::mt19937 engine(3);
    for (int i = 0; i < (delayed ? 40 : 150) && !testing::Test::HasFailure(); ++i) {
      const Labels labels = random_labels(engine);
      Extents extents;
      for (const char label : labels.a + labels.b + labels.c) extents[label] = 1 + static_cast<long long>(engine() % 5);
      const auto beta = static_cast<TypeParam>(static_cast<float>(engine() % 3) - 1);
      for (int place = host_place; place < 2; ++place)
        check<TypeParam>(rig, labels, extents, TypeParam(2), beta, place, engine);
    }
  }
}

TEST(ContractionOfLargerMatrices, EqualsThePlainLoop) {
  Rig rig({});
  std::mt19937 engine(4);
  for (const Labels& labels : {Labels{"ik", "kj", "ij"}, Labels{"ki", "kj", "ij"}, Labels{"ik", "jk", "ji"}})
    check<double>(rig, labels, {{'i', 300}, {'j', 17}, {'k', 150}}, 1.0, 1.0, 0, engine);
}

TEST(ContractionPlan, PermutesNothingThatIsInOrder) {
  const std::vector<long long> four(4, 4);
  const auto permuted = [&](const char* a, const char* b, const char* c) {
    const auto plan = plan_contraction({a, four}, {b, four}, {c, four}, false);
    EXPECT_DONE(plan);
    return std::string(plan->a.permuted ? "A" : "") + (plan->b.permuted ? "B" : "") + (plan->c.permuted ? "C" : "");
  };
  EXPECT_EQ(permuted("abcd", "cdij", "abij"), "") << "particle-particle ladder";
  EXPECT_EQ(permuted("abcd", "cdij", "ijab"), "") << "a transposed result";
  EXPECT_EQ(permuted("cdab", "ijcd", "abij"), "");
  EXPECT_EQ(permuted("acbd", "cdij", "abij"), "A");
  EXPECT_EQ(permuted("akic", "kcbj", "aibj"), "A");
  EXPECT_EQ(permuted("akic", "kbcj", "aibj"), "AB");
}

TEST(ContractionOfBlocks, SaysWhatIsWrong) {
  Rig rig({});
  const auto block = rig.block(1024);
  const auto other = rig.block(1024);
  const auto result = rig.block(1024);
  fill<double>(*block, std::vector<double>(128, 1));
  fill<double>(*other, std::vector<double>(128, 1));
  const std::vector<long long> two(9, 2);
  const std::vector<long long> three(9, 3);
  const std::vector<long long> none(9, 0);
  const auto attempt = [&](const TensorShape& a, const TensorShape& b, const TensorShape& c) {
    const auto done = contract(rig.engine(), blas::Scalar::d, 1.0, {*block, a}, {*other, b}, 0.0, {*result, c}, 0);
    EXPECT_TRUE(fails_with(done, ErrorKind::bad_argument));
    return message_of(done);
  };
  EXPECT_EQ(attempt({"ijj", two}, {"jk", two}, {"ik", two}), "index j occurs twice in A \"ijj\"");
  EXPECT_EQ(attempt({"ij", two}, {"jk", three}, {"ik", two}), "index j has length 2 in A and 3 in B");
  EXPECT_EQ(attempt({"ij", two}, {"jk", two}, {"ijk", two}),
            "index j has to occur in exactly two of \"ij\", \"jk\" and \"ijk\"");
  EXPECT_EQ(attempt({"ij", two}, {"jk", two}, {"i", two}),
            "index k has to occur in exactly two of \"ij\", \"jk\" and \"i\"");
  EXPECT_EQ(attempt({"ij", none}, {"jk", none}, {"ik", none}), "index i of A \"ij\" has length 0");
  EXPECT_EQ(attempt({"abcdefghi", two}, {"abcdefghi", two}, {"", two}), "A \"abcdefghi\" has more than 8 indices");
  EXPECT_EQ(attempt({"abcde", three}, {"abcde", three}, {"", three}),
            "A \"abcde\" takes 1944 bytes, and its block has 1024");
}

TEST(ContractionOfBlocks, LeavesNoWrongResultBehind) {
  for (const char* fault : {"execute:1:memory", "execute:2:memory", "execute:2:lost"}) {
    Rig rig({.fault = fault});
    const auto a = rig.block(64 * sizeof(double));
    const auto b = rig.block(64 * sizeof(double));
    const auto c = rig.block(64 * sizeof(double));
    fill(*a, std::vector<double>(64, 1));
    fill(*b, std::vector<double>(64, 1));
    const std::vector<long long> four(3, 4);
    const auto done = contract(rig.engine(), blas::Scalar::d, 1.0, {*a, {"iak", four}}, {*b, {"bki", four}}, 0.0,
                               {*c, {"ab", four}}, 0);
    ASSERT_FALSE(done) << fault;
    EXPECT_TRUE(fails_with(c->acquire(host_place, Access::read, nullptr), ErrorKind::nothing_there)) << fault;
    EXPECT_EQ(content<double>(*a), std::vector<double>(64, 1));
  }
}

TEST(ContractionOfBlocks, RefusesAResultThatIsAFactor) {
  Rig rig({});
  const auto a = rig.block(4 * sizeof(double));
  const auto b = rig.block(4 * sizeof(double));
  fill(*a, std::vector<double>(4, 1));
  fill(*b, std::vector<double>(4, 1));
  const std::vector<long long> two(2, 2);
  const auto done =
      contract(rig.engine(), blas::Scalar::d, 1.0, {*a, {"ij", two}}, {*b, {"jk", two}}, 1.0, {*a, {"ik", two}}, 0);
  EXPECT_TRUE(fails_with(done, ErrorKind::conflict));
  EXPECT_DONE(a->finish()) << "nobody holds it any more";
  EXPECT_DONE(b->finish());
  EXPECT_DONE(
      contract(rig.engine(), blas::Scalar::d, 1.0, {*a, {"ij", two}}, {*a, {"jk", two}}, 0.0, {*b, {"ik", two}}, 0))
      << "both factors may be the same";
}

}  // namespace
}  // namespace blastoff::blocks
