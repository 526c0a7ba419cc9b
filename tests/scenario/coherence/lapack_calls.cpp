#include "lapack_calls.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#ifdef WITH_LAPACK

// The functions are declared without arguments and called through pointers of the right type.
#define DECLARE(p, eigen)      \
  extern "C" void p##potrf_(); \
  extern "C" void p##potrs_(); \
  extern "C" void p##posv_();  \
  extern "C" void p##getrf_(); \
  extern "C" void p##getrs_(); \
  extern "C" void p##geqrf_(); \
  extern "C" void p##eigen##_();
DECLARE(s, syevd)
DECLARE(d, syevd)
DECLARE(c, heevd)
DECLARE(z, heevd)
#undef DECLARE

#endif

namespace coherence {
namespace {

struct Names {
  void (*potrf)() = nullptr;
  void (*potrs)() = nullptr;
  void (*posv)() = nullptr;
  void (*getrf)() = nullptr;
  void (*getrs)() = nullptr;
  void (*geqrf)() = nullptr;
  void (*eigen)() = nullptr;
};

#ifdef WITH_LAPACK
#define NAMES(p, eigen) \
  { p##potrf_, p##potrs_, p##posv_, p##getrf_, p##getrs_, p##geqrf_, p##eigen##_ }
constexpr Names names[] = {NAMES(s, syevd), NAMES(d, syevd), NAMES(c, heevd), NAMES(z, heevd)};
#undef NAMES
constexpr bool linked = true;
#else
constexpr Names names[4];
constexpr bool linked = false;
#endif

const Names& names_of(Scalar scalar) {
  return names[static_cast<std::size_t>(scalar)];
}

template <class... Arguments>
void invoke(void (*function)(), Arguments... arguments) {
  reinterpret_cast<void (*)(Arguments...)>(function)(arguments...);
}

constexpr std::size_t one = 1;  // length of an option; Fortran passes lengths behind the arguments

/// Work space of any element type.
class Workspace {
 public:
  explicit Workspace(int elements) : numbers_(2 * static_cast<std::size_t>(elements)) {}
  double* data() { return numbers_.data(); }

 private:
  std::vector<double> numbers_;
};

}  // namespace

bool has_lapack() {
  return linked;
}

int potrf(Scalar scalar, char uplo, const Block& a) {
  int info = -1;
  invoke(names_of(scalar).potrf, &uplo, &a.rows, a.address, &a.leading_dimension, &info, one);
  return info;
}

int potrs(Scalar scalar, char uplo, const Block& a, const Block& b) {
  int info = -1;
  invoke(names_of(scalar).potrs, &uplo, &a.rows, &b.columns, a.address, &a.leading_dimension, b.address,
         &b.leading_dimension, &info, one);
  return info;
}

int posv(Scalar scalar, char uplo, const Block& a, const Block& b) {
  int info = -1;
  invoke(names_of(scalar).posv, &uplo, &a.rows, &b.columns, a.address, &a.leading_dimension, b.address,
         &b.leading_dimension, &info, one);
  return info;
}

int getrf(Scalar scalar, const Block& a, int* pivots) {
  int info = -1;
  invoke(names_of(scalar).getrf, &a.rows, &a.columns, a.address, &a.leading_dimension, pivots, &info);
  return info;
}

int getrs(Scalar scalar, char transpose, const Block& a, const int* pivots, const Block& b) {
  int info = -1;
  invoke(names_of(scalar).getrs, &transpose, &a.rows, &b.columns, a.address, &a.leading_dimension, pivots, b.address,
         &b.leading_dimension, &info, one);
  return info;
}

int geqrf(Scalar scalar, const Block& a, void* tau) {
  const int work_size = std::max(1, 32 * a.columns);
  Workspace work(work_size);
  int info = -1;
  invoke(names_of(scalar).geqrf, &a.rows, &a.columns, a.address, &a.leading_dimension, tau, work.data(), &work_size,
         &info);
  return info;
}

int heevd(Scalar scalar, char uplo, const Block& a, void* values) {
  const char vectors = 'V';
  const int n = a.rows;
  const int work_size = 1 + 6 * n + 2 * n * n;
  const int real_size = 1 + 5 * n + 2 * n * n;
  const int integer_size = 3 + 5 * n;
  Workspace work(work_size), reals(real_size);
  std::vector<int> integers(static_cast<std::size_t>(integer_size));
  int info = -1;
  if (blastoff::blas::is_complex(scalar)) {
    invoke(names_of(scalar).eigen, &vectors, &uplo, &n, a.address, &a.leading_dimension, values, work.data(),
           &work_size, reals.data(), &real_size, integers.data(), &integer_size, &info, one, one);
  } else {
    invoke(names_of(scalar).eigen, &vectors, &uplo, &n, a.address, &a.leading_dimension, values, work.data(),
           &work_size, integers.data(), &integer_size, &info, one, one);
  }
  return info;
}

}  // namespace coherence
