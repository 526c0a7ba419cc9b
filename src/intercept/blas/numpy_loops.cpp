#include "intercept/blas/numpy_loops.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "intercept/blas/enter_definition.h"
#include "intercept/lookup.h"
#include "intercept/patch/patched_function.h"
#include "platform/caller.h"
#include "platform/errno_guard.h"
#include "platform/log.h"
#include "platform/readable.h"

namespace blastoff::intercept {
namespace {

/// A loop of numpy.matmul. `arrays`: of A, B and C. `sizes`: products, m, k, n. `steps`, in bytes: from product to
/// product in A, B and C, then from row to row and from column to column in each of them.
using Loop = void (*)(char** arrays, const std::intptr_t* sizes, const std::intptr_t* steps, void* data);

/// The beginning of a PyUFuncObject behind PyObject_HEAD (numpy/ufuncobject.h).
struct UniversalFunction {
  int inputs;
  int outputs;
  int arguments;
  int identity;
  const Loop* loops;
  void* const* data;
  int loop_count;
  int reserved;
  const char* name;
  const char* types;  ///< the numbers of the types of all loops
};

/// An element type: BLAS's, and NumPy's letter and number for it.
struct ElementType {
  blas::Scalar scalar;
  char letter;
  char number;
};
constexpr std::array element_types = {ElementType{blas::Scalar::s, 'f', 11}, ElementType{blas::Scalar::d, 'd', 12},
                                      ElementType{blas::Scalar::c, 'F', 14}, ElementType{blas::Scalar::z, 'D', 15}};

/// NumPy's loops, in the order of blas::Scalar.
constinit std::array<std::atomic<Loop>, element_types.size()> originals{};

/// The loops that NumPy's object has instead.
constexpr std::size_t max_loops = 64;
constinit std::array<Loop, max_loops> loops_in_place{};

std::atomic<Loop>& original_of(blas::Scalar scalar) {
  return originals[static_cast<std::size_t>(scalar)];
}

constexpr auto kind = blas::Kind::gemm_batch_strided;

/// The arguments of a loop, which are also read as those of cblas_?gemm_batch_strided.
template <blas::Scalar scalar>
struct Batch : BlasArguments<abi::Style::cblas, kind, scalar> {
  struct {
    char** arrays;
    const std::intptr_t* sizes;
    const std::intptr_t* steps;
    void* data;
  } of_loop;

  static void invoke(const void* self, void* original) {
    const auto& [arrays, sizes, steps, data] = static_cast<const Batch*>(self)->of_loop;
    reinterpret_cast<Loop>(original)(arrays, sizes, steps, data);
  }
};

/// How a matrix lies in memory.
struct Layout {
  bool by_rows = false;
  std::int64_t leading_dimension = 0;
};

/// The steps of an operand, in bytes.
struct Steps {
  std::intptr_t products;
  std::intptr_t rows;
  std::intptr_t columns;
};

std::optional<Layout> layout_of(std::int64_t rows, std::int64_t columns, const Steps& steps, std::int64_t element) {
  const auto is_dense = [&](std::intptr_t within, std::intptr_t between, std::int64_t length) {
    return within == element && between % element == 0 && between / element >= length;
  };
  // NumPy has no step where there is only one row or column.
  const std::intptr_t row_step = rows == 1 ? columns * element : steps.rows;
  const std::intptr_t column_step = columns == 1 ? rows * element : steps.columns;
  if (is_dense(column_step, row_step, columns)) return Layout{true, row_step / element};
  if (is_dense(row_step, column_step, rows)) return Layout{false, column_step / element};
  return std::nullopt;
}

struct Stack {
  Stack(const std::intptr_t* sizes, const std::intptr_t* steps)
      : products(sizes[0]),
        m(sizes[1]),
        k(sizes[2]),
        n(sizes[3]),
        a{steps[0], steps[3], steps[4]},
        b{steps[1], steps[5], steps[6]},
        c{steps[2], steps[7], steps[8]} {}

  /// If all products share B, and the rows of A and C follow each other from product to product, they are one product.
  /// The same holds for A and columns.
  void merge() {
    if (b.products == 0 && follow(a, a.rows, m) && follow(c, c.rows, m))
      merge(m, a.rows, a.products, c.rows);
    else if (a.products == 0 && follow(b, b.columns, n) && follow(c, c.columns, n))
      merge(n, b.columns, b.products, c.columns);
  }

  std::int64_t products;
  std::int64_t m;
  std::int64_t k;
  std::int64_t n;
  Steps a;
  Steps b;
  Steps c;

 private:
  static bool follow(const Steps& steps, std::intptr_t step, std::int64_t count) {
    return count == 1 || steps.products == count * step;
  }

  /// A step of only one row or column says nothing.
  void merge(std::int64_t& count, std::intptr_t& step, std::intptr_t between, std::intptr_t& step_of_result) {
    if (count == 1) {
      step = between;
      step_of_result = c.products;
    }
    count *= products;
    products = 1;
  }
};

/// Whether each B is the transpose of its A. NumPy computes such a product by syrk and copies the triangle, so it is
/// symmetric to the last bit.
bool is_product_with_own_transpose(char* const* arrays, const std::intptr_t* sizes, const std::intptr_t* steps) {
  return arrays[0] == arrays[1] && steps[0] == steps[1] && sizes[1] == sizes[3] && steps[3] == steps[6] &&
         steps[4] == steps[5];
}

/// gemv has ways of its own for a larger matrix.
constexpr std::int64_t largest_matrix_of_gemv = std::int64_t{32} << 20;

/// Products of two vectors, with one row and column or with a k of 1, are left to NumPy.
bool multiplies_matrices(const Stack& stack, std::int64_t element) {
  const auto [products, m, k, n, a, b, c] = stack;
  if (k < 2 || (m < 2 && n < 2)) return false;
  return (m > 1 && n > 1) || m * k * n * element <= largest_matrix_of_gemv;
}

/// Returns nothing if BLAS has no such batch, or if its results could differ in kind.
template <blas::Scalar scalar>
std::optional<Batch<scalar>> batch_of(char** arrays, const std::intptr_t* sizes, const std::intptr_t* steps, void* data,
                                      const void* caller) {
  using Element = abi::Element<scalar>;
  using abi::Cblas;
  static constexpr Element one{1};
  static constexpr Element zero{0};
  constexpr std::int64_t element = sizeof(Element);
  if (is_product_with_own_transpose(arrays, sizes, steps)) return std::nullopt;
  Stack stack(sizes, steps);
  stack.merge();
  if (!multiplies_matrices(stack, element)) return std::nullopt;
  const auto [products, m, k, n, of_a, of_b, of_c] = stack;
  if (of_a.products % element != 0 || of_b.products % element != 0 || of_c.products % element != 0) return std::nullopt;
  const auto a = layout_of(m, k, of_a, element);
  const auto b = layout_of(k, n, of_b, element);
  const auto c = layout_of(m, n, of_c, element);
  if (!a || !b || !c) return std::nullopt;
  const auto transpose = [&](const Layout& matrix) {
    return int{matrix.by_rows == c->by_rows ? Cblas::no_transpose : Cblas::transpose};
  };
  const auto coefficient = [](const Element& value) {
    if constexpr (blas::is_complex(scalar))
      return static_cast<const void*>(&value);
    else
      return value;
  };
  return Batch<scalar>{
      {{int{c->by_rows ? Cblas::row_major : Cblas::column_major}, transpose(*a), transpose(*b), m, n, k,
        coefficient(one), arrays[0], a->leading_dimension, of_a.products / element, arrays[1], b->leading_dimension,
        of_b.products / element, coefficient(zero), arrays[2], c->leading_dimension, of_c.products / element, products},
       caller},
      {arrays, sizes, steps, data}};
}

/// Returns NumPy's own gemm; nullptr if it is not intercepted.
template <blas::Scalar scalar>
void* gemm_of(const void* loop) {
  static constinit std::atomic<const EntryPoint*> known{nullptr};
  const EntryPoint* entry = known.load(std::memory_order_relaxed);
  if (entry == nullptr) {
    const platform::ErrnoGuard errno_stays;
    const Routine gemm = blas_routine(blas::routine_of(blas::Kind::gemm, scalar));
    const auto found = std::ranges::find_if(blas_entry_points, [&](const EntryPoint& each) {
      return each.routine == gemm && each.convention.style == abi::Style::cblas &&
             find_definition_in_reach(each.symbol, loop) != nullptr;
    });
    dlerror();  // a failed search must not appear as an error of the program
    if (found == std::end(blas_entry_points)) return nullptr;
    entry = &*found;
    known.store(entry, std::memory_order_relaxed);
  }
  const Original original = original_for(*entry, loop);
  if (original.intercepted) return original.function;
  // Only patched functions are to be intercepted.
  const auto patched = find_patched(original.function);
  return patched && patched->table == entry->routine.table ? patched->original.function : nullptr;
}

#define BLASTOFF_ENTRY(scalar)                                                       \
  {                                                                                  \
    "numpy.matmul", "", "", blas_routine(blas::Routine::scalar##gemm_batch_strided), \
        {abi::Style::cblas, abi::IntegerWidth::ilp64}, false                         \
  }
constinit const EntryPoint entries[] = {BLASTOFF_ENTRY(s), BLASTOFF_ENTRY(d), BLASTOFF_ENTRY(c), BLASTOFF_ENTRY(z)};
#undef BLASTOFF_ENTRY

/// Makes the products of a stack as one call. Returns false if it has not made it: then each product is a call of its
/// own, of NumPy's gemm.
template <blas::Scalar scalar>
[[gnu::noinline]] bool made_as_batch(Loop loop, char** arrays, const std::intptr_t* sizes, const std::intptr_t* steps,
                                     void* data, const void* caller) {
  const auto batch = batch_of<scalar>(arrays, sizes, steps, data, caller);
  if (!batch || abi::inside_original()) return false;
  const EntryPoint& entry = entries[static_cast<std::size_t>(scalar)];
  const Original original{.function = reinterpret_cast<void*>(loop),
                          .convention = entry.convention,
                          .companion = gemm_of<scalar>(reinterpret_cast<const void*>(loop))};
  if (original.companion == nullptr) return false;
  const auto routine = static_cast<operation::RoutineId>(blas::front_end().first_routine() + entry.routine.number);
  const operation::Work work = sized_work<abi::Style::cblas, kind, scalar, std::int64_t>(*batch);
  if (counted_as_small(routine, work.volume, work.flops)) {
    abi::run_as_original([&] { loop(arrays, sizes, steps, data); });
    return true;
  }
  blas::Call call;
  if (!parse<abi::Style::cblas, kind, scalar, std::int64_t>(&call, blas_routine(entry.routine), *batch) ||
      blas::is_scattered(call))
    return false;
  const RawArguments raw{&Batch<scalar>::invoke, &*batch};
  const InterceptedCall intercepted{entry, original, raw, blas::front_end(), entry.routine.number, blas_host, caller};
  dispatch_call<kind, scalar>(intercepted, &call);
  return true;
}

template <blas::Scalar scalar>
void loop_of(char** arrays, const std::intptr_t* sizes, const std::intptr_t* steps, void* data) {
  const Loop loop = original_of(scalar).load(std::memory_order_relaxed);
  if (sizes[0] < 2 || !made_as_batch<scalar>(loop, arrays, sizes, steps, data, __builtin_return_address(0)))
    loop(arrays, sizes, steps, data);
}

Loop our_loop(blas::Scalar scalar) {
  switch (scalar) {
    case blas::Scalar::s: return &loop_of<blas::Scalar::s>;
    case blas::Scalar::d: return &loop_of<blas::Scalar::d>;
    case blas::Scalar::c: return &loop_of<blas::Scalar::c>;
    case blas::Scalar::z: return &loop_of<blas::Scalar::z>;
  }
  return nullptr;
}

/// Whether the memory is a universal function with loops for these types.
bool is_as_expected(const UniversalFunction& function, std::string_view types) {
  static constexpr char matmul[] = "matmul";
  constexpr std::string_view name(matmul, sizeof matmul);  // with its end
  const auto readable = [](const void* memory, std::size_t bytes) { return platform::is_readable(memory, bytes); };
  const std::size_t count = types.size() / 3;
  if (!readable(&function, sizeof function) || function.inputs != 2 || function.outputs != 1 ||
      function.arguments != 3 || function.loop_count != static_cast<int>(count) || count > max_loops)
    return false;
  if (!readable(function.name, name.size()) || std::string_view(function.name, name.size()) != name ||
      !readable(function.types, types.size()) || !readable(function.loops, count * sizeof(Loop)))
    return false;
  for (const ElementType& type : element_types)
    for (std::size_t i = 0; i < types.size(); ++i)
      if ((types[i] == type.letter) != (function.types[i] == type.number)) return false;
  const void* const object = platform::object_record(function.name);
  return object != nullptr && std::all_of(function.loops, function.loops + count, [&](Loop loop) {
           return platform::object_record(reinterpret_cast<const void*>(loop)) == object;
         });
}

/// Returns the number of the loop for elements of that type; nullopt: there is none.
std::optional<std::size_t> loop_for(const ElementType& type, std::string_view types) {
  const std::size_t found = types.find(std::string(3, type.letter));
  return found != std::string_view::npos && found % 3 == 0 ? std::optional(found / 3) : std::nullopt;
}

}  // namespace

void take_matmul(void* fields, const char* letters) {
  auto& function = *static_cast<UniversalFunction*>(fields);
  const std::string_view types(letters);
  // Another interpreter of this process has the same object.
  if (platform::is_readable(fields, sizeof function) && function.loops == loops_in_place.data()) return;
  if (original_of(blas::Scalar::d).load(std::memory_order_relaxed) != nullptr || !is_as_expected(function, types)) {
    platform::log_line(
        "numpy.matmul: its loops are not where they are in NumPy 1 and 2; each product of a stack remains a call of "
        "its own");
    return;
  }
  std::copy_n(function.loops, function.loop_count, loops_in_place.begin());
  for (const ElementType& type : element_types) {
    const auto place = loop_for(type, types);
    if (!place) continue;
    original_of(type.scalar).store(function.loops[*place], std::memory_order_relaxed);
    loops_in_place[*place] = our_loop(type.scalar);
  }
  std::atomic_ref(function.loops).store(loops_in_place.data(), std::memory_order_release);
}

}  // namespace blastoff::intercept
