// Uses all of FFTW's planners, in C and Fortran, and compares every execution with the definition of the transform.
// Prints "ok" or "WRONG" for each, and finally their number.
//
// fftw_routines every | threads | again | opened | reused | fork
#include <dlfcn.h>
#include <fftw3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

extern "C" {
#define FORTRAN_NAMES(f, Plan)                                                                                        \
  void f##plan_dft_1d_(Plan*, const int*, void*, void*, const int*, const int*);                                      \
  void f##plan_dft_2d_(Plan*, const int*, const int*, void*, void*, const int*, const int*);                          \
  void f##plan_dft_3d_(Plan*, const int*, const int*, const int*, void*, void*, const int*, const int*);              \
  void f##plan_dft_(Plan*, const int*, const int*, void*, void*, const int*, const int*);                             \
  void f##plan_many_dft_(Plan*, const int*, const int*, const int*, void*, const int*, const int*, const int*, void*, \
                         const int*, const int*, const int*, const int*, const int*);                                 \
  void f##plan_guru_dft_(Plan*, const int*, const int*, const int*, const int*, const int*, const int*, const int*,   \
                         const int*, void*, void*, const int*, const int*);                                           \
  FORTRAN_REAL_NAMES(f, r2c, Plan)                                                                                    \
  FORTRAN_REAL_NAMES(f, c2r, Plan)                                                                                    \
  void f##execute_(Plan*);                                                                                            \
  void f##execute_dft_(Plan*, void*, void*);                                                                          \
  void f##execute_dft_r2c_(Plan*, void*, void*);                                                                      \
  void f##execute_dft_c2r_(Plan*, void*, void*);                                                                      \
  void f##destroy_plan_(Plan*);
#define FORTRAN_REAL_NAMES(f, kind, Plan)                                                                        \
  void f##plan_dft_##kind##_1d_(Plan*, const int*, void*, void*, const int*);                                    \
  void f##plan_dft_##kind##_2d_(Plan*, const int*, const int*, void*, void*, const int*);                        \
  void f##plan_dft_##kind##_3d_(Plan*, const int*, const int*, const int*, void*, void*, const int*);            \
  void f##plan_dft_##kind##_(Plan*, const int*, const int*, void*, void*, const int*);                           \
  void f##plan_many_dft_##kind##_(Plan*, const int*, const int*, const int*, void*, const int*, const int*,      \
                                  const int*, void*, const int*, const int*, const int*, const int*);            \
  void f##plan_guru_dft_##kind##_(Plan*, const int*, const int*, const int*, const int*, const int*, const int*, \
                                  const int*, const int*, void*, void*, const int*);
FORTRAN_NAMES(dfftw_, fftw_plan)
FORTRAN_NAMES(sfftw_, fftwf_plan)
}

namespace {

/// The functions of one precision.
#define API(Name, p, f, Number)                                    \
  struct Name {                                                    \
    using Real = Number;                                           \
    using Complex = p##complex;                                    \
    using Plan = p##plan;                                          \
    using Dim = p##iodim;                                          \
    using Dim64 = p##iodim64;                                      \
    static constexpr auto allocate = p##malloc;                    \
    static constexpr auto free = p##free;                          \
    static constexpr auto execute = p##execute;                    \
    static constexpr auto destroy = p##destroy_plan;               \
    static constexpr auto execute_new = p##execute_dft;            \
    static constexpr auto execute_new_r2c = p##execute_dft_r2c;    \
    static constexpr auto execute_new_c2r = p##execute_dft_c2r;    \
    static constexpr auto plan_1d = p##plan_dft_1d;                \
    static constexpr auto plan_2d = p##plan_dft_2d;                \
    static constexpr auto plan_3d = p##plan_dft_3d;                \
    static constexpr auto plan = p##plan_dft;                      \
    static constexpr auto many = p##plan_many_dft;                 \
    static constexpr auto guru = p##plan_guru_dft;                 \
    static constexpr auto guru64 = p##plan_guru64_dft;             \
    REAL_API(p, f, r2c)                                            \
    REAL_API(p, f, c2r)                                            \
    static constexpr auto f_plan_1d = f##plan_dft_1d_;             \
    static constexpr auto f_plan_2d = f##plan_dft_2d_;             \
    static constexpr auto f_plan_3d = f##plan_dft_3d_;             \
    static constexpr auto f_plan = f##plan_dft_;                   \
    static constexpr auto f_many = f##plan_many_dft_;              \
    static constexpr auto f_guru = f##plan_guru_dft_;              \
    static constexpr auto f_execute = f##execute_;                 \
    static constexpr auto f_execute_new = f##execute_dft_;         \
    static constexpr auto f_execute_new_r2c = f##execute_dft_r2c_; \
    static constexpr auto f_execute_new_c2r = f##execute_dft_c2r_; \
    static constexpr auto f_destroy = f##destroy_plan_;            \
  };
#define REAL_API(p, f, kind)                                          \
  static constexpr auto kind##_1d = p##plan_dft_##kind##_1d;          \
  static constexpr auto kind##_2d = p##plan_dft_##kind##_2d;          \
  static constexpr auto kind##_3d = p##plan_dft_##kind##_3d;          \
  static constexpr auto kind = p##plan_dft_##kind;                    \
  static constexpr auto kind##_many = p##plan_many_dft_##kind;        \
  static constexpr auto kind##_guru = p##plan_guru_dft_##kind;        \
  static constexpr auto kind##_guru64 = p##plan_guru64_dft_##kind;    \
  static constexpr auto f_##kind##_1d = f##plan_dft_##kind##_1d_;     \
  static constexpr auto f_##kind##_2d = f##plan_dft_##kind##_2d_;     \
  static constexpr auto f_##kind##_3d = f##plan_dft_##kind##_3d_;     \
  static constexpr auto f_##kind = f##plan_dft_##kind##_;             \
  static constexpr auto f_##kind##_many = f##plan_many_dft_##kind##_; \
  static constexpr auto f_##kind##_guru = f##plan_guru_dft_##kind##_;
API(Double, fftw_, dfftw_, double)
API(Single, fftwf_, sfftw_, float)

enum Kind { c2c, r2c, c2r };
const char* const kind_names[] = {"c2c", "r2c", "c2r"};

using Tensor = std::vector<std::complex<double>>;

struct Dim {
  int n, is, os;
};

/// A transform and its layout. Strides are in elements of each side.
struct Case {
  std::string name;
  Kind kind = c2c;
  std::vector<Dim> dims;
  std::vector<Dim> batches;
  int sign = FFTW_FORWARD;
  bool in_place = false;

  int points() const {
    int count = 1;
    for (const Dim& dim : dims) count *= dim.n;
    return count;
  }
  int transforms() const {
    int count = 1;
    for (const Dim& dim : batches) count *= dim.n;
    return count;
  }
};

int executions = 0;
int wrong = 0;

double random_number() {
  return static_cast<double>(std::rand()) / RAND_MAX - 0.5;
}

/// Computes the transform by its definition, one dimension after the other.
void transform(Tensor& data, const std::vector<Dim>& dims, int sign) {
  std::size_t inner = data.size();
  std::size_t outer = 1;
  for (const Dim& dim : dims) {
    const auto n = static_cast<std::size_t>(dim.n);
    inner /= n;
    for (std::size_t o = 0; o < outer; ++o)
      for (std::size_t i = 0; i < inner; ++i) {
        Tensor line(n);
        for (std::size_t k = 0; k < n; ++k)
          for (std::size_t j = 0; j < n; ++j)
            line[k] += data[(o * n + j) * inner + i] *
                       std::polar(1.0, sign * 2 * M_PI * static_cast<double>(j * k % n) / static_cast<double>(n));
        for (std::size_t k = 0; k < n; ++k) data[(o * n + k) * inner + i] = line[k];
      }
    outer *= n;
  }
}

/// Calls visit(index in the tensor, offset of the element) for each element of one side. `halved`: the side is the
/// complex side of a real transform.
void each_element(const Case& test, std::size_t batch, bool output, bool halved,
                  const std::function<void(std::size_t, std::size_t)>& visit) {
  const auto stride = [&](const Dim& dim) { return static_cast<std::size_t>(output ? dim.os : dim.is); };
  std::size_t base = 0;
  for (std::size_t b = test.batches.size(); b-- > 0;) {
    const auto n = static_cast<std::size_t>(test.batches[b].n);
    base += batch % n * stride(test.batches[b]);
    batch /= n;
  }
  for (std::size_t index = 0; index < static_cast<std::size_t>(test.points()); ++index) {
    std::size_t rest = index;
    std::size_t offset = base;
    bool present = true;
    for (std::size_t d = test.dims.size(); d-- > 0;) {
      const auto n = static_cast<std::size_t>(test.dims[d].n);
      if (halved && d + 1 == test.dims.size() && rest % n > n / 2) present = false;
      offset += rest % n * stride(test.dims[d]);
      rest /= n;
    }
    if (present) visit(index, offset);
  }
}

/// One side's memory as real numbers. Numbers that belong to no element hold a mark.
template <class Api>
class Memory {
 public:
  using Real = typename Api::Real;
  static constexpr Real mark = 12345;

  explicit Memory(std::size_t words)
      : words_(words), data_(static_cast<Real*>(Api::allocate(words * sizeof(Real)))), used_(words) {
    for (std::size_t i = 0; i < words; ++i) data_[i] = mark;
  }
  ~Memory() { Api::free(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  Real* data() { return data_; }
  void use(std::size_t word) { used_[word] = true; }
  bool gaps_untouched() const {
    for (std::size_t i = 0; i < words_; ++i)
      if (!used_[i] && data_[i] != mark) return false;
    return true;
  }
  std::vector<Real> snapshot() const { return {data_, data_ + words_}; }

 private:
  std::size_t words_;
  Real* data_;
  std::vector<bool> used_;
};

/// The arrays of one execution, with their contents and the expected results.
template <class Api>
class Arrays {
 public:
  using Real = typename Api::Real;

  explicit Arrays(const Case& test) : test_(test), in_(words(test)), out_(test.in_place ? 1 : words(test)) {
    mark_elements();
  }

  void* in() { return in_.data(); }
  void* out() { return test_.in_place ? in_.data() : out_.data(); }

  void fill() {
    expected_.clear();
    for (int batch = 0; batch < test_.transforms(); ++batch) fill(static_cast<std::size_t>(batch));
    before_ = in_.snapshot();
  }

  void check(const char* how) {
    ++executions;
    double error = 0;
    double norm = 0;
    for (std::size_t batch = 0; batch < expected_.size(); ++batch)
      each_element(test_, batch, true, test_.kind == r2c, [&](std::size_t index, std::size_t offset) {
        const std::complex<double> value = expected_[batch][index];
        error += std::norm(read(offset) - value);
        norm += std::norm(value);
      });
    const double bound = (sizeof(Real) == 4 ? 1e-6 : 1e-14) * 10;
    const bool kept = test_.in_place || test_.kind == c2r ||
                      std::memcmp(before_.data(), in_.data(), before_.size() * sizeof(Real)) == 0;
    const bool right =
        std::sqrt(error) <= bound * std::sqrt(norm) && in_.gaps_untouched() && out_.gaps_untouched() && kept;
    if (!right) ++wrong;
    std::printf("%s %s %s %s %s%s\n", right ? "ok" : "WRONG", sizeof(Real) == 4 ? "single" : "double",
                kind_names[test_.kind], test_.name.c_str(), how, test_.in_place ? " in place" : "");
  }

 private:
  /// Number of reals that are enough for either side.
  static std::size_t words(const Case& test) {
    std::size_t last = 0;
    for (const bool output : {false, true})
      for (int batch = 0; batch < test.transforms(); ++batch)
        each_element(test, static_cast<std::size_t>(batch), output, false,
                     [&](std::size_t, std::size_t offset) { last = std::max(last, offset); });
    return 2 * last + 16;
  }

  bool complex_side(bool output) const { return test_.kind == c2c || (test_.kind == r2c) == output; }

  void mark_elements() {
    for (const bool output : {false, true})
      for (int batch = 0; batch < test_.transforms(); ++batch)
        each_element(test_, static_cast<std::size_t>(batch), output, test_.kind != c2c && complex_side(output),
                     [&](std::size_t, std::size_t offset) {
                       Memory<Api>& memory = output && !test_.in_place ? out_ : in_;
                       if (!complex_side(output)) return memory.use(offset);
                       memory.use(2 * offset);
                       memory.use(2 * offset + 1);
                     });
  }

  void fill(std::size_t batch) {
    Tensor data(static_cast<std::size_t>(test_.points()));
    for (auto& value : data) value = {random_number(), test_.kind == c2c ? random_number() : 0};
    Tensor spectrum = data;
    transform(spectrum, test_.dims, test_.kind == c2c ? test_.sign : FFTW_FORWARD);
    const Tensor& input = test_.kind == c2r ? spectrum : data;
    each_element(test_, batch, false, test_.kind == c2r, [&](std::size_t index, std::size_t offset) {
      if (!complex_side(false)) {
        in_.data()[offset] = static_cast<Real>(input[index].real());
      } else {
        in_.data()[2 * offset] = static_cast<Real>(input[index].real());
        in_.data()[2 * offset + 1] = static_cast<Real>(input[index].imag());
      }
    });
    if (test_.kind == c2r)
      for (auto& value : data) value *= test_.points();
    expected_.push_back(test_.kind == c2r ? data : spectrum);
  }

  std::complex<double> read(std::size_t offset) {
    const Real* const words = static_cast<Real*>(out());
    if (!complex_side(true)) return {static_cast<double>(words[offset]), 0};
    return {static_cast<double>(words[2 * offset]), static_cast<double>(words[2 * offset + 1])};
  }

  const Case test_;
  Memory<Api> in_;
  Memory<Api> out_;
  std::vector<Tensor> expected_;
  std::vector<Real> before_;
};

enum class Form { one, two, three, any, many, guru, guru64, f_one, f_two, f_three, f_any, f_many, f_guru };
constexpr Form all_forms[] = {Form::one,   Form::two,    Form::three, Form::any,   Form::many,
                              Form::guru,  Form::guru64, Form::f_one, Form::f_two, Form::f_three,
                              Form::f_any, Form::f_many, Form::f_guru};
const char* const form_names[] = {"1d",           "2d",           "3d",          "plan",       "many",
                                  "guru",         "guru64",       "Fortran 1d",  "Fortran 2d", "Fortran 3d",
                                  "Fortran plan", "Fortran many", "Fortran guru"};

bool is_fortran(Form form) {
  return form >= Form::f_one;
}

constexpr int flags = FFTW_ESTIMATE;

/// Lengths and embeddings of a row-major layout with unit stride, computed from its strides.
struct Many {
  std::vector<int> n, in, out;
  int howmany = 1, istride = 1, idist = 0, ostride = 1, odist = 0;

  explicit Many(const Case& test, bool reversed) {
    const auto& dims = test.dims;
    istride = dims.back().is;
    ostride = dims.back().os;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      n.push_back(dims[i].n);
      in.push_back(i == 0 ? dims[0].n : dims[i - 1].is / dims[i].is);
      out.push_back(i == 0 ? dims[0].n : dims[i - 1].os / dims[i].os);
    }
    if (reversed)
      for (auto* list : {&n, &in, &out}) *list = {list->rbegin(), list->rend()};
    if (test.batches.empty()) return;
    howmany = test.batches[0].n;
    idist = test.batches[0].is;
    odist = test.batches[0].os;
  }
};

template <class Structure>
std::vector<Structure> guru_dims(const std::vector<Dim>& dims) {
  std::vector<Structure> result;
  for (const Dim& dim : dims) {
    Structure structure;
    structure.n = dim.n;
    structure.is = dim.is;
    structure.os = dim.os;
    result.push_back(structure);
  }
  return result;
}

struct FortranDims {
  int rank;
  std::vector<int> n, is, os;
  explicit FortranDims(const std::vector<Dim>& dims) : rank(static_cast<int>(dims.size())) {
    for (const Dim& dim : dims) {
      n.push_back(dim.n);
      is.push_back(dim.is);
      os.push_back(dim.os);
    }
  }
};

template <class Api>
class Planner {
 public:
  using Plan = typename Api::Plan;
  using Real = typename Api::Real;
  using Complex = typename Api::Complex;

  Planner(const Case& test, Form form, void* in, void* out) : test_(test), form_(form), in_(in), out_(out) {
    plan_ = is_fortran(form) ? fortran_plan() : c_plan();
  }
  ~Planner() {
    if (is_fortran(form_))
      Api::f_destroy(&plan_);
    else
      Api::destroy(plan_);
  }
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  void execute() { is_fortran(form_) ? Api::f_execute(&plan_) : Api::execute(plan_); }

  void execute_on(void* in, void* out) {
    if (is_fortran(form_)) {
      const auto function = test_.kind == c2c   ? Api::f_execute_new
                            : test_.kind == r2c ? Api::f_execute_new_r2c
                                                : Api::f_execute_new_c2r;
      return function(&plan_, in, out);
    }
    switch (test_.kind) {
      case c2c: return Api::execute_new(plan_, static_cast<Complex*>(in), static_cast<Complex*>(out));
      case r2c: return Api::execute_new_r2c(plan_, static_cast<Real*>(in), static_cast<Complex*>(out));
      case c2r: return Api::execute_new_c2r(plan_, static_cast<Complex*>(in), static_cast<Real*>(out));
    }
  }

 private:
  int n(std::size_t index) const { return test_.dims[index].n; }

  Plan c_plan() const {
    switch (test_.kind) {
      case c2c:
        return c_plan(static_cast<Complex*>(in_), static_cast<Complex*>(out_), Api::plan_1d, Api::plan_2d, Api::plan_3d,
                      Api::plan, Api::many, Api::guru, Api::guru64, test_.sign);
      case r2c:
        return c_plan(static_cast<Real*>(in_), static_cast<Complex*>(out_), Api::r2c_1d, Api::r2c_2d, Api::r2c_3d,
                      Api::r2c, Api::r2c_many, Api::r2c_guru, Api::r2c_guru64);
      case c2r:
        return c_plan(static_cast<Complex*>(in_), static_cast<Real*>(out_), Api::c2r_1d, Api::c2r_2d, Api::c2r_3d,
                      Api::c2r, Api::c2r_many, Api::c2r_guru, Api::c2r_guru64);
    }
    return nullptr;
  }

  template <class In, class Out, class One, class Two, class Three, class Any, class ManyPlan, class Guru, class Guru64,
            class... Sign>
  Plan c_plan(In* in, Out* out, One one, Two two, Three three, Any any, ManyPlan plan_many, Guru guru, Guru64 guru64,
              Sign... sign) const {
    const int rank = static_cast<int>(test_.dims.size());
    const Many many(test_, false);
    const auto dims = guru_dims<typename Api::Dim>(test_.dims);
    const auto batches = guru_dims<typename Api::Dim>(test_.batches);
    const auto dims64 = guru_dims<typename Api::Dim64>(test_.dims);
    const auto batches64 = guru_dims<typename Api::Dim64>(test_.batches);
    const int howmany_rank = static_cast<int>(batches.size());
    switch (form_) {
      case Form::one: return one(n(0), in, out, sign..., flags);
      case Form::two: return two(n(0), n(1), in, out, sign..., flags);
      case Form::three: return three(n(0), n(1), n(2), in, out, sign..., flags);
      case Form::any: return any(rank, many.n.data(), in, out, sign..., flags);
      case Form::many:
        return plan_many(rank, many.n.data(), many.howmany, in, many.in.data(), many.istride, many.idist, out,
                         many.out.data(), many.ostride, many.odist, sign..., flags);
      case Form::guru: return guru(rank, dims.data(), howmany_rank, batches.data(), in, out, sign..., flags);
      default: return guru64(rank, dims64.data(), howmany_rank, batches64.data(), in, out, sign..., flags);
    }
  }

  Plan fortran_plan() const {
    switch (test_.kind) {
      case c2c:
        return fortran_plan(Api::f_plan_1d, Api::f_plan_2d, Api::f_plan_3d, Api::f_plan, Api::f_many, Api::f_guru,
                            &test_.sign, &flags);
      case r2c:
        return fortran_plan(Api::f_r2c_1d, Api::f_r2c_2d, Api::f_r2c_3d, Api::f_r2c, Api::f_r2c_many, Api::f_r2c_guru,
                            &flags);
      case c2r:
        return fortran_plan(Api::f_c2r_1d, Api::f_c2r_2d, Api::f_c2r_3d, Api::f_c2r, Api::f_c2r_many, Api::f_c2r_guru,
                            &flags);
    }
    return nullptr;
  }

  /// `last`: the sign, if the planner has one, and the flags.
  template <class One, class Two, class Three, class Any, class ManyPlan, class Guru, class... Last>
  Plan fortran_plan(One one, Two two, Three three, Any any, ManyPlan plan_many, Guru guru, Last... last) const {
    Plan plan = nullptr;
    const Many many(test_, true);
    const FortranDims dims(test_.dims);
    const FortranDims batches(test_.batches);
    switch (form_) {
      case Form::f_one: one(&plan, &many.n[0], in_, out_, last...); break;
      case Form::f_two: two(&plan, &many.n[0], &many.n[1], in_, out_, last...); break;
      case Form::f_three: three(&plan, &many.n[0], &many.n[1], &many.n[2], in_, out_, last...); break;
      case Form::f_any: any(&plan, &dims.rank, many.n.data(), in_, out_, last...); break;
      case Form::f_many:
        plan_many(&plan, &dims.rank, many.n.data(), &many.howmany, in_, many.in.data(), &many.istride, &many.idist,
                  out_, many.out.data(), &many.ostride, &many.odist, last...);
        break;
      default:
        guru(&plan, &dims.rank, dims.n.data(), dims.is.data(), dims.os.data(), &batches.rank, batches.n.data(),
             batches.is.data(), batches.os.data(), in_, out_, last...);
    }
    return plan;
  }

  const Case test_;
  const Form form_;
  void* in_;
  void* out_;
  Plan plan_ = nullptr;
};

/// A row-major layout with the given inner stride and embeddings wider by `wider`, as FFTW's manual describes it.
Case row_major(Kind kind, const std::vector<int>& lengths, bool in_place, int stride = 1, int wider = 0) {
  Case test;
  test.kind = kind;
  test.in_place = in_place;
  int is = stride, os = stride;
  for (std::size_t d = lengths.size(); d-- > 0;) {
    test.dims.insert(test.dims.begin(), {lengths[d], is, os});
    const bool last = d + 1 == lengths.size();
    const int half = lengths[d] / 2 + 1;
    const auto line = [&](bool complex_side) {
      if (kind == c2c || !last) return lengths[d];
      return complex_side ? half : in_place ? 2 * half : lengths[d];
    };
    const int real_wider = kind != c2c && in_place ? 2 * wider : wider;
    is *= line(kind == c2r) + (last ? (kind == r2c ? real_wider : wider) : 0);
    os *= line(kind == r2c) + (last ? (kind == c2r ? real_wider : wider) : 0);
  }
  return test;
}

Case batched(Case test, int howmany) {
  const auto distance = [&](bool output) {
    const Dim& first = test.dims.front();
    return output ? first.os * (test.dims.size() > 1 ? first.n : 0) : first.is * (test.dims.size() > 1 ? first.n : 0);
  };
  int is = distance(false), os = distance(true);
  if (test.dims.size() == 1) {
    const int n = test.dims[0].n;
    const int half = n / 2 + 1;
    const int real = test.in_place ? 2 * half : n;
    is = test.dims[0].is * (test.kind == c2c ? n : test.kind == r2c ? real : half);
    os = test.dims[0].os * (test.kind == c2c ? n : test.kind == c2r ? real : half);
  }
  test.batches.push_back({howmany, is, os});
  return test;
}

template <class Api>
void run(Case test, Form form) {
  test.name = form_names[static_cast<int>(form)];
  for (const Dim& dim : test.dims) test.name += " " + std::to_string(dim.n) + ":" + std::to_string(dim.is);
  for (const Dim& dim : test.batches) test.name += " batch " + std::to_string(dim.n) + ":" + std::to_string(dim.is);
  Arrays<Api> planned(test);
  Planner<Api> plan(test, form, planned.in(), planned.out());
  planned.fill();
  plan.execute();
  planned.check("");
  Arrays<Api> others(test);
  others.fill();
  plan.execute_on(others.in(), others.out());
  others.check("elsewhere");
}

template <class Api>
void every(Kind kind) {
  for (const bool in_place : {false, true})
    for (const Form form : all_forms) {
      const auto rank = form == Form::one || form == Form::f_one ? 1 : form == Form::two || form == Form::f_two ? 2 : 3;
      const std::vector<int> lengths = {4, 3, 10};
      Case plain = row_major(kind, {lengths.end() - rank, lengths.end()}, in_place);
      run<Api>(plain, form);
      if (kind == c2c) {
        plain.sign = FFTW_BACKWARD;
        run<Api>(plain, form);
      }
      if (form <= Form::any || (is_fortran(form) && form <= Form::f_any)) continue;
      run<Api>(batched(row_major(kind, {6, 5}, in_place), 3), form);
      run<Api>(batched(row_major(kind, {9}, in_place), 4), form);
      run<Api>(row_major(kind, {3, 4, 7}, in_place, 1, 2), form);                          // padded lines
      if (kind == c2c || !in_place) run<Api>(row_major(kind, {5, 6}, in_place, 2), form);  // every other element
      Case columns = row_major(kind, {8}, in_place);  // transforms along the columns of a matrix
      columns.dims[0].is = columns.dims[0].os = 5;
      columns.batches = {{5, 1, 1}};
      if (kind == c2c || !in_place) run<Api>(columns, form);
      run<Api>(row_major(kind, {2, 3, 2, 5}, in_place), form);  // four dimensions
    }
  if (kind != c2c) return;
  Case turned = row_major(kind, {4, 6}, false);  // the result's dimensions in another order
  turned.dims[0].os = 1;
  turned.dims[1].os = 4;
  run<Api>(turned, Form::guru);
  Case twice = row_major(kind, {5, 4}, false);  // two loops around
  twice.batches = {{3, 20, 20}, {2, 70, 60}};
  run<Api>(twice, Form::guru64);
}

/// Several threads execute one plan, each on its own arrays.
void threads() {
  const Case test = row_major(c2c, {8, 9, 10}, false);
  Arrays<Double> planned(test);
  Planner<Double> plan(test, Form::three, planned.in(), planned.out());
  constexpr int count = 4;
  std::vector<std::unique_ptr<Arrays<Double>>> arrays;
  for (int i = 0; i < count; ++i) arrays.push_back(std::make_unique<Arrays<Double>>(test));
  for (int round = 0; round < 10; ++round) {
    for (auto& each : arrays) each->fill();
    std::vector<std::thread> running;
    for (auto& each : arrays) running.emplace_back([&] { plan.execute_on(each->in(), each->out()); });
    for (std::thread& thread : running) thread.join();
    for (auto& each : arrays) each->check("by several threads");
  }
}

/// Plans are destroyed, and other plans get their addresses: with other shapes, or for transforms that stay with FFTW.
void again() {
  for (int round = 0; round < 200; ++round) {
    run<Double>(row_major(round % 2 == 0 ? c2c : r2c, {3 + round % 7, 4}, false), Form::two);
    double numbers[4] = {1, 2, 3, 4};
    const fftw_plan other = fftw_plan_r2r_1d(4, numbers, numbers, FFTW_R2HC, FFTW_ESTIMATE);
    double data[4] = {1, 2, 3, 4};
    std::memcpy(numbers, data, sizeof data);
    fftw_execute(other);
    if (numbers[0] != 10 || numbers[1] != -2) ++wrong;
    fftw_destroy_plan(other);
    if (fftw_plan_dft_1d(0, nullptr, nullptr, FFTW_FORWARD, FFTW_ESTIMATE) != nullptr) ++wrong;
  }
}

/// The same in a program that is not linked with FFTW, so that it may reach functions that are not intercepted.
void opened() {
  void* const library = dlopen("libfftw3.so.3", RTLD_NOW | RTLD_LOCAL);
  const auto find = [&](const char* name, auto* function) {
    return reinterpret_cast<decltype(function)>(dlsym(library, name));
  };
  const auto plan_dft = find("fftw_plan_dft_1d", fftw_plan_dft_1d);
  const auto plan_r2r = find("fftw_plan_r2r_1d", fftw_plan_r2r_1d);
  const auto execute = find("fftw_execute", fftw_execute);
  const auto destroy = find("fftw_destroy_plan", fftw_destroy_plan);
  for (int round = 0; round < 50; ++round) {
    fftw_complex in[4], out[4];
    const fftw_plan transform = plan_dft(4, in, out, FFTW_FORWARD, FFTW_ESTIMATE);
    for (int i = 0; i < 4; ++i) in[i][0] = i + 1, in[i][1] = 0;
    execute(transform);
    if (out[0][0] != 10 || out[1][0] != -2 || out[1][1] != 2) ++wrong;
    destroy(transform);
    double numbers[4];
    const fftw_plan other = plan_r2r(4, numbers, numbers, FFTW_R2HC, FFTW_ESTIMATE);
    for (int i = 0; i < 4; ++i) numbers[i] = i + 1;
    for (auto& number : out) number[0] = 77;
    execute(other);
    if (numbers[0] != 10 || numbers[1] != -2 || out[0][0] != 77) ++wrong;
    destroy(other);
    executions += 2;
  }
}

/// Element k of the transform of n complex numbers.
std::complex<double> transformed(const fftw_complex* in, int n, int sign, int k) {
  std::complex<double> sum = 0;
  for (int i = 0; i < n; ++i)
    sum += std::complex<double>(in[i][0], in[i][1]) * std::polar(1.0, sign * 2 * M_PI * i * k / n);
  return sum;
}

/// Plans whose end is not noticed, and other plans at their addresses whose making is not noticed either: with another
/// direction, with another length, in place, or of real numbers only. All have the same arrays.
void reused() {
  constexpr int count = 40;
  constexpr int n = 12;
  void* const library = dlopen("libfftw3.so.3", RTLD_NOW | RTLD_LOCAL);
  const auto find = [&](const char* name, auto* function) {
    return reinterpret_cast<decltype(function)>(dlsym(library, name));
  };
  const auto plan_unheard = find("fftw_plan_dft_1d", fftw_plan_dft_1d);
  const auto destroy_unheard = find("fftw_destroy_plan", fftw_destroy_plan);
  fftw_complex in[n], out[n];
  const auto fill = [&] {
    for (int i = 0; i < n; ++i) in[i][0] = i % 5 - 1, in[i][1] = i % 3, out[i][0] = out[i][1] = 77;
  };
  const auto check = [&](const fftw_complex* result, int length, int sign) {
    fill();
    const std::complex<double> expected = transformed(in, length, sign, 1);
    return [=] { return std::abs(std::complex<double>(result[1][0], result[1][1]) - expected) < 1e-12; };
  };
  for (int round = 0; round < 20; ++round) {
    fftw_plan plans[count];
    for (fftw_plan& plan : plans) {
      plan = fftw_plan_dft_1d(n, in, out, FFTW_FORWARD, FFTW_ESTIMATE);
      const auto right = check(out, n, -1);
      fftw_execute(plan);
      if (!right()) ++wrong;
    }
    for (const fftw_plan plan : plans) destroy_unheard(plan);
    for (int i = 0; i < count; ++i) {
      switch (i % 4) {
        case 0: plans[i] = plan_unheard(n, in, out, FFTW_BACKWARD, FFTW_ESTIMATE); break;
        case 1: plans[i] = plan_unheard(n / 2, in, out, FFTW_FORWARD, FFTW_ESTIMATE); break;
        case 2: plans[i] = plan_unheard(n, in, in, FFTW_FORWARD, FFTW_ESTIMATE); break;
        case 3: plans[i] = fftw_plan_r2r_1d(n, in[0], out[0], FFTW_DHT, FFTW_ESTIMATE); break;
      }
    }
    for (int i = 0; i < count; ++i) {
      if (i % 4 == 3) {
        fill();
        const auto* const numbers = reinterpret_cast<const double*>(in);
        double expected = 0;
        for (int j = 0; j < n; ++j) expected += numbers[j] * (std::cos(2 * M_PI * j / n) + std::sin(2 * M_PI * j / n));
        fftw_execute(plans[i]);
        if (std::abs(out[0][1] - expected) > 1e-12) ++wrong;
      } else {
        const auto right = check(i % 4 == 2 ? in : out, i % 4 == 1 ? n / 2 : n, i % 4 == 0 ? 1 : -1);
        fftw_execute(plans[i]);
        if (!right()) ++wrong;
      }
    }
    for (const fftw_plan plan : plans) destroy_unheard(plan);
    executions += 2 * count;
  }
}

void in_child() {
  const Case test = row_major(c2c, {4, 5, 6}, true);
  Arrays<Double> planned(test);
  Planner<Double> plan(test, Form::three, planned.in(), planned.out());
  planned.fill();
  plan.execute();
  planned.check("before the fork");
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    planned.fill();
    plan.execute();
    planned.check("in the child");
    run<Double>(test, Form::f_three);
    std::fflush(stdout);
    _exit(wrong == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) ++wrong;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "every";
  if (what == "every") {
    for (const Kind kind : {c2c, r2c, c2r}) {
      every<Double>(kind);
      every<Single>(kind);
    }
  } else if (what == "threads") {
    threads();
  } else if (what == "again") {
    again();
  } else if (what == "opened") {
    opened();
  } else if (what == "reused") {
    reused();
  } else {
    in_child();
  }
  std::printf("executions %d\n", executions);
  return wrong == 0 ? 0 : 1;
}
