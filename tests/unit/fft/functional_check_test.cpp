// --verify=sample for transforms: correct results of all sizes and numbers pass, and small errors are found.
#include "fft/functional_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fft/execution.h"
#include "naive_transform.h"

namespace blastoff::test {
namespace {

using fft::Dimension;
using fft::Kind;
using fft::Precision;
using fft::Request;
using fft::Transform;
using operation::Comparison;

/// The powers of a root of one.
template <class Real>
const std::vector<std::complex<Real>>& roots_of_one(std::size_t n, int sign) {
  static std::map<std::pair<std::size_t, int>, std::vector<std::complex<Real>>> known;
  std::vector<std::complex<Real>>& roots = known[{n, sign}];
  for (std::size_t k = roots.size(); k < n; ++k)
    roots.emplace_back(std::polar(1.0, sign * 2 * M_PI * static_cast<double>(k) / static_cast<double>(n)));
  return roots;
}

/// Computes a transform by splitting off the least prime factor, in the precision of the numbers.
template <class Real>
std::vector<std::complex<Real>> fast_line(const std::vector<std::complex<Real>>& x, int sign) {
  const std::size_t n = x.size();
  std::size_t p = 2;
  while (n % p != 0 && p * p < n) ++p;
  if (n % p != 0) p = n;
  if (n == 1) return x;
  const std::size_t m = n / p;
  std::vector<std::vector<std::complex<Real>>> parts;
  for (std::size_t i = 0; i < p; ++i) {
    std::vector<std::complex<Real>> part(m);
    for (std::size_t j = 0; j < m; ++j) part[j] = x[i + p * j];
    parts.push_back(fast_line(part, sign));
  }
  const std::vector<std::complex<Real>>& roots = roots_of_one<Real>(n, sign);
  std::vector<std::complex<Real>> result(n);
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < p; ++i) result[k] += parts[i][k % m] * roots[i * k % n];
  return result;
}

template <class Real>
void fast_transform(const Transform& transform, const Real* in, Real* out) {
  each_batch(transform, [&](std::int64_t in_base, std::int64_t out_base) {
    Tensor wide(static_cast<std::size_t>(transform.length()));
    each_element(transform, false, in_base, [&](std::size_t index, std::int64_t offset) {
      wide[index] = transform.real_input() ? std::complex<double>(in[offset])
                                           : std::complex<double>(in[2 * offset], in[2 * offset + 1]);
    });
    if (transform.real_output()) complete(wide, transform);
    std::vector<std::complex<Real>> data(wide.begin(), wide.end());
    std::size_t inner = data.size(), outer = 1;
    for (const Dimension& dim : transform.dims.all()) {
      const auto n = static_cast<std::size_t>(dim.length);
      inner /= n;
      for (std::size_t o = 0; o < outer; ++o)
        for (std::size_t i = 0; i < inner; ++i) {
          std::vector<std::complex<Real>> line(n);
          for (std::size_t k = 0; k < n; ++k) line[k] = data[(o * n + k) * inner + i];
          line = fast_line(line, transform.request.sign);
          for (std::size_t k = 0; k < n; ++k) data[(o * n + k) * inner + i] = line[k];
        }
      outer *= n;
    }
    for (std::complex<Real>& number : data) number *= static_cast<Real>(transform.factor);
    each_element(transform, true, out_base, [&](std::size_t index, std::int64_t offset) {
      if (transform.real_output()) {
        out[offset] = data[index].real();
      } else {
        out[2 * offset] = data[index].real();
        out[2 * offset + 1] = data[index].imag();
      }
    });
  });
}

enum class Numbers { random, constant, one, wave, smooth, tiny };

/// A transform with its arrays.
template <class Real>
class Execution {
 public:
  Execution(const Transform& transform, Numbers numbers = Numbers::random, unsigned seed = 1) : transform_(transform) {
    in_.resize(words(false));
    out_.resize(words(true));
    fill(numbers, seed);
    if (transform.request.in_place) in_.resize(std::max(in_.size(), out_.size()));
    const auto made = fft::make_plan(this, {transform_, in_.data(), out()}, {this, fft::Style::c});
    EXPECT_TRUE(made);
    plan_ = *made;
  }

  std::unique_ptr<operation::Verification> check() {
    return fft::check_by_functional(fft::Execution{&plan_, in_.data(), out()}.operation());
  }
  void compute() { fast_transform(transform_, std::vector<Real>(in_).data(), out()); }

  const Transform& transform() const { return transform_; }
  Real* in() { return in_.data(); }
  Real* out() { return transform_.request.in_place ? in_.data() : out_.data(); }

  /// The positions of the results' real numbers.
  std::vector<std::int64_t> results() const { return positions(true); }
  std::vector<std::int64_t> inputs() const { return positions(false); }

  double rms() {
    double squares = 0;
    const auto all = results();
    for (const std::int64_t word : all) squares += std::pow(static_cast<double>(out()[word]), 2);
    return std::sqrt(squares / static_cast<double>(all.size()));
  }

 private:
  std::vector<std::int64_t> positions(bool output) const {
    std::vector<std::int64_t> result;
    const bool real = output ? transform_.real_output() : transform_.real_input();
    each_batch(transform_, [&](std::int64_t in_base, std::int64_t out_base) {
      each_element(transform_, output, output ? out_base : in_base, [&](std::size_t, std::int64_t offset) {
        for (int word = 0; word < (real ? 1 : 2); ++word) result.push_back(real ? offset : 2 * offset + word);
      });
    });
    return result;
  }

  std::size_t words(bool output) const {
    const auto all = positions(output);
    return static_cast<std::size_t>(*std::max_element(all.begin(), all.end())) + 2;
  }

  void fill(Numbers numbers, unsigned seed) {
    std::mt19937_64 engine(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    if (transform_.real_output()) return fill_spectrum(numbers, seed);
    std::size_t i = 0;
    const auto all = inputs();
    const auto count = static_cast<double>(all.size());
    for (const std::int64_t word : all) {
      const double x = static_cast<double>(i) / count;
      const double values[] = {uniform(engine),       1,
                               i < 1 ? 1.0 : 0,       std::cos(2 * M_PI * 0.25 * count * x),
                               std::exp(-40 * x * x), 1e-20 * uniform(engine)};
      in_[static_cast<std::size_t>(word)] = static_cast<Real>(values[static_cast<std::size_t>(numbers)]);
      ++i;
    }
  }

  /// Fills the input with the spectrum of real numbers.
  void fill_spectrum(Numbers numbers, unsigned seed) {
    Transform forward = transform_;
    forward.request = {Kind::r2c, transform_.request.precision, -1, false};
    for (fft::Dimensions* loops : {&forward.dims, &forward.batches})
      for (Dimension& loop : loops->all()) std::swap(loop.in_stride, loop.out_stride);
    Execution<Real> other(forward, numbers, seed);
    other.compute();
    in_.assign(other.out_.begin(), other.out_.end());
  }

  Transform transform_;
  std::vector<Real> in_, out_;
  fft::Plan plan_;
};

struct Case {
  std::string name;
  Transform transform;
};

Transform batched(Transform transform, const std::vector<Dimension>& batches) {
  const auto dims = transform.dims.all();
  return *fft::guru(transform.request, dims, batches);
}

template <class Real>
std::vector<Case> cases() {
  const Precision precision = std::is_same_v<Real, double> ? Precision::f64 : Precision::f32;
  std::vector<Case> result;
  const auto add = [&](const std::string& name, const Transform& transform) {
    result.push_back({name + " of kind " + std::to_string(static_cast<int>(transform.request.kind)) +
                          (transform.request.in_place ? " in place" : ""),
                      transform});
  };
  for (const Kind kind : {Kind::c2c, Kind::r2c, Kind::c2r})
    for (const bool in_place : {false, true})
      for (const int sign : {-1, 1}) {
        if ((kind == Kind::r2c && sign > 0) || (kind == Kind::c2r && sign < 0)) continue;
        const Request request{kind, precision, sign, in_place};
        for (const std::int64_t n : {2, 3, 4, 5, 8, 15, 31, 97, 128, 600, 1024, 2187, 4096})
          add("line " + std::to_string(n), *fft::basic(request, std::vector<std::int64_t>{n}));
        add("plane", *fft::basic(request, std::vector<std::int64_t>{5, 6}));
        add("plane", *fft::basic(request, std::vector<std::int64_t>{64, 63}));
        add("flat plane", *fft::basic(request, std::vector<std::int64_t>{500, 2}));
        add("long plane", *fft::basic(request, std::vector<std::int64_t>{2, 501}));
        add("space", *fft::basic(request, std::vector<std::int64_t>{3, 4, 5}));
        add("space", *fft::basic(request, std::vector<std::int64_t>{16, 16, 16}));
        add("four dimensions", *fft::basic(request, std::vector<std::int64_t>{3, 4, 5, 6}));
        const Transform plane = *fft::basic(request, std::vector<std::int64_t>{4, 6});
        const Dimension line = plane.dims.all()[0];
        add("planes", batched(plane, {{7, 4 * line.in_stride, 4 * line.out_stride}}));
        add("planes", batched(plane, {{300, 4 * line.in_stride, 4 * line.out_stride}}));
        for (const double factor : {1.0 / 4096, -3.5}) {
          Transform scaled = *fft::basic(request, std::vector<std::int64_t>{16, 16, 16});
          scaled.factor = factor;
          add("space with a factor", scaled);
        }
      }
  const Request plain{Kind::c2c, precision};
  add("columns", *fft::guru(plain, std::vector<Dimension>{{30, 7, 9}}, std::vector<Dimension>{{7, 1, 1}}));
  add("every other", *fft::guru(plain, std::vector<Dimension>{{60, 2, 3}}, {}));
  add("another order", *fft::guru(plain, std::vector<Dimension>{{3, 1, 1}, {50, 3, 3}}, {}));
  add("two batches",
      *fft::guru(plain, std::vector<Dimension>{{4, 1, 1}}, std::vector<Dimension>{{3, 4, 4}, {20, 12, 12}}));
  return result;
}

template <class Real>
class FunctionalCheck : public testing::Test {
 protected:
  static constexpr double small = std::is_same_v<Real, double> ? 1e-6 : 1e-2;  ///< relative to the rms
};
using Reals = testing::Types<double, float>;
TYPED_TEST_SUITE(FunctionalCheck, Reals);

void expect_right(const Comparison& comparison, const std::string& name) {
  EXPECT_TRUE(comparison.checked) << name;
  EXPECT_LE(comparison.relative_error, comparison.bound) << name;
}

void expect_wrong(const Comparison& comparison, const std::string& name) {
  EXPECT_TRUE(comparison.checked) << name;
  EXPECT_GT(comparison.relative_error, comparison.bound) << name;
}

TYPED_TEST(FunctionalCheck, PassesRightResults) {
  double worst = 0;
  for (const Case& test : cases<TypeParam>())
    for (const Numbers numbers :
         {Numbers::random, Numbers::constant, Numbers::one, Numbers::wave, Numbers::smooth, Numbers::tiny})
      for (unsigned seed = 1; seed < 3; ++seed) {
        Execution<TypeParam> execution(test.transform, numbers, seed);
        const auto check = execution.check();
        execution.compute();
        const Comparison comparison = check->compare();
        expect_right(comparison, test.name + ", numbers " + std::to_string(static_cast<int>(numbers)));
        worst = std::max(worst, comparison.relative_error / comparison.bound);
      }
  // If no error came near the bound, the bound could be smaller.
  EXPECT_GT(worst, 0.02);
  EXPECT_LT(worst, 0.6);
}

TYPED_TEST(FunctionalCheck, FindsASmallErrorOfOneElement) {
  std::mt19937_64 engine(5);
  for (const Case& test : cases<TypeParam>()) {
    Execution<TypeParam> execution(test.transform);
    const auto check = execution.check();
    execution.compute();
    const auto results = execution.results();
    const double rms = execution.rms();
    for (int attempt = 0; attempt < 10; ++attempt) {
      TypeParam& element = execution.out()[results[engine() % results.size()]];
      const TypeParam right = element;
      element += static_cast<TypeParam>((engine() % 2 == 0 ? 1 : -1) * this->small * rms);
      expect_wrong(check->compare(), test.name);
      element = right;
    }
    expect_right(check->compare(), test.name);
  }
}

TYPED_TEST(FunctionalCheck, FindsASmallErrorOfALargeResult) {
  const Precision precision = std::is_same_v<TypeParam, double> ? Precision::f64 : Precision::f32;
  std::mt19937_64 engine(6);
  for (const std::vector<std::int64_t>& lengths : {std::vector<std::int64_t>{1 << 15}, {256, 256}, {40, 36, 45}}) {
    for (const Kind kind : {Kind::c2c, Kind::r2c, Kind::c2r}) {
      const std::string name =
          std::to_string(lengths.size()) + " dimensions, kind " + std::to_string(static_cast<int>(kind));
      Execution<TypeParam> execution(*fft::basic({kind, precision, kind == Kind::c2r ? 1 : -1, false}, lengths));
      const auto check = execution.check();
      execution.compute();
      expect_right(check->compare(), name);
      const auto results = execution.results();
      execution.out()[results[engine() % results.size()]] += static_cast<TypeParam>(this->small * execution.rms());
      expect_wrong(check->compare(), name);
    }
  }
}

/// The transform is so large that several threads read it. The transform of a single one is known.
TYPED_TEST(FunctionalCheck, ReadsOnSeveralThreads) {
  const Precision precision = std::is_same_v<TypeParam, double> ? Precision::f64 : Precision::f32;
  constexpr std::size_t points = std::size_t{128} * 96 * 64;
  const Transform transform = *fft::basic({Kind::c2c, precision}, std::vector<std::int64_t>{128, 96, 64});
  std::vector<TypeParam> in(2 * points), out(2 * points);
  in[0] = 1;
  const auto plan = *fft::make_plan(&in, {transform, in.data(), out.data()}, {&in, fft::Style::c});
  const auto check = fft::check_by_functional(fft::Execution{&plan, in.data(), out.data()}.operation());
  for (std::size_t i = 0; i < points; ++i) out[2 * i] = 1;
  expect_right(check->compare(), "ones");
  for (const std::size_t element : {std::size_t{0}, points / 3, points - 1}) {
    out[2 * element] += static_cast<TypeParam>(this->small);
    expect_wrong(check->compare(), "one of them larger");
    out[2 * element] = 1;
  }
}

TYPED_TEST(FunctionalCheck, FindsAResultWithoutItsFactor) {
  for (Case test : cases<TypeParam>()) {
    test.transform.factor = 0.999;
    Execution<TypeParam> execution(test.transform);
    const auto check = execution.check();
    execution.compute();
    expect_right(check->compare(), test.name);
    for (const std::int64_t word : execution.results()) execution.out()[word] /= static_cast<TypeParam>(0.999);
    expect_wrong(check->compare(), test.name);
  }
}

TYPED_TEST(FunctionalCheck, FindsResultsOfSomethingElse) {
  for (const Case& test : cases<TypeParam>()) {
    if (test.transform.request.in_place) continue;
    Execution<TypeParam> execution(test.transform);
    const auto check = execution.check();
    const auto expect_found = [&](const std::string& what) { expect_wrong(check->compare(), test.name + ", " + what); };
    expect_found("nothing written");
    const auto inputs = execution.inputs();
    if (test.transform.length() > 2 && test.transform.request.kind == Kind::c2c) {
      Transform backward = test.transform;
      backward.request.sign *= -1;
      fast_transform(backward, execution.in(), execution.out());
      expect_found("the other direction");
    }
    // A spectrum's first numbers are real.
    TypeParam& stale = execution.in()[inputs[test.transform.real_output() ? 0 : inputs.size() / 2]];
    const auto change = static_cast<TypeParam>(test.transform.real_output() ? std::sqrt(test.transform.length()) : 0.5);
    stale += change;
    execution.compute();
    expect_found("an input of another time");
    stale -= change;
    execution.compute();
    expect_right(check->compare(), test.name);
    const auto results = execution.results();
    std::swap(execution.out()[results.front()], execution.out()[results.back()]);
    if (execution.out()[results.front()] != execution.out()[results.back()])
      expect_found("two elements in each other's place");
  }
}

TYPED_TEST(FunctionalCheck, FindsNotANumber) {
  for (const Case& test : cases<TypeParam>())
    for (const TypeParam wrong :
         {std::numeric_limits<TypeParam>::quiet_NaN(), std::numeric_limits<TypeParam>::infinity()}) {
      Execution<TypeParam> execution(test.transform);
      const auto check = execution.check();
      execution.compute();
      execution.out()[execution.results().back()] = wrong;
      expect_wrong(check->compare(), test.name);
    }
}

TYPED_TEST(FunctionalCheck, LeavesWhatHasNoBound) {
  const Precision precision = std::is_same_v<TypeParam, double> ? Precision::f64 : Precision::f32;
  const Transform transform = *fft::basic({Kind::c2c, precision}, std::vector<std::int64_t>{64});
  using Limits = std::numeric_limits<TypeParam>;
  for (const TypeParam number :
       {Limits::quiet_NaN(), Limits::infinity(), Limits::max(), Limits::denorm_min(), TypeParam(0)}) {
    Execution<TypeParam> execution(transform, Numbers::random);
    for (const std::int64_t word : execution.inputs()) execution.in()[word] = number;
    const auto check = execution.check();
    execution.compute();
    EXPECT_FALSE(check->compare().checked) << number;
  }
  // Zeros that were changed.
  Execution<TypeParam> execution(transform, Numbers::random);
  for (const std::int64_t word : execution.inputs()) execution.in()[word] = 0;
  const auto check = execution.check();
  execution.compute();
  execution.out()[3] = 1;
  expect_wrong(check->compare(), "zeros");
}

/// Two lines of real numbers are transformed as one line of complex numbers, as a library may do. The result of a line
/// of zeros is then the rounding errors of the other line.
TYPED_TEST(FunctionalCheck, PassesRealLinesThatWereTransformedInPairs) {
  using Complex = std::complex<TypeParam>;
  constexpr std::int64_t length = 51, half = length / 2 + 1, lines = 12, zeros = 7;
  const Precision precision = std::is_same_v<TypeParam, double> ? Precision::f64 : Precision::f32;
  const Transform line = *fft::basic({Kind::r2c, precision}, std::vector<std::int64_t>{length});
  Execution<TypeParam> execution(batched(line, {{lines, length, half}}));
  TypeParam* const in = execution.in();
  std::fill_n(in + zeros * length, length, TypeParam(0));
  const auto check = execution.check();
  for (std::int64_t pair = 0; pair < lines; pair += 2) {
    std::vector<Complex> both;
    for (std::int64_t i = 0; i < length; ++i) both.emplace_back(in[pair * length + i], in[(pair + 1) * length + i]);
    both = fast_line(both, -1);
    auto* const out = reinterpret_cast<Complex*>(execution.out()) + pair * half;
    for (std::int64_t k = 0; k < half; ++k) {
      const Complex here = both[static_cast<std::size_t>(k)];
      const Complex there = std::conj(both[static_cast<std::size_t>((length - k) % length)]);
      out[k] = (here + there) / TypeParam(2);
      out[half + k] = (here - there) / Complex(0, 2);
    }
  }
  auto* const noise = execution.out() + 2 * zeros * half;
  for (std::int64_t word = 0; word < 2 * half; ++word)
    noise[word] += static_cast<TypeParam>((word % 2 == 0 ? 0.5 : -0.5) * execution.rms()) *
                   std::numeric_limits<TypeParam>::epsilon();
  expect_right(check->compare(), "in pairs");
  noise[5] += static_cast<TypeParam>(this->small * execution.rms());
  expect_wrong(check->compare(), "what is more than rounding");
}

/// FFTW and the definition by lines ignore the imaginary parts of numbers that must be real.
TYPED_TEST(FunctionalCheck, OfASpectrumOnlyWhatHasAnOppositeCounts) {
  const Precision precision = std::is_same_v<TypeParam, double> ? Precision::f64 : Precision::f32;
  Execution<TypeParam> execution(*fft::basic({Kind::c2r, precision, 1}, std::vector<std::int64_t>{64}));
  execution.in()[1] = 3;
  const auto check = execution.check();
  execution.compute();
  expect_right(check->compare(), "an imaginary part of element 0");
}

}  // namespace
}  // namespace blastoff::test
