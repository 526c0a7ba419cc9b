// Compares the least work space of each routine with LAPACK: with less, LAPACK must report an error.
#include <array>
#include <cstddef>
#include <utility>

#include <gtest/gtest.h>

#include "example.h"
#include "lapack/call.h"
#include "on_system_lapack.h"

/// Replaces LAPACK's own xerbla_, which would end the program.
extern "C" [[gnu::visibility("default")]] void xerbla_(const char*, const int*, std::size_t) {}

namespace blastoff::test {
namespace {

using lapack::Argument;
using lapack::Kind;

template <std::size_t... positions>
void call(void* function, const std::array<void*, lapack::max_words>& words, std::index_sequence<positions...>) {
  using Function = void(decltype((void)positions, static_cast<void*>(nullptr))...);
  reinterpret_cast<Function*>(function)(words[positions]...);
}

class WorkSpace : public OnSystemLapack {
 protected:
  /// The value that LAPACK returns in info.
  static std::int64_t info_of(Example& example) {
    const lapack::ArgumentList& arguments = lapack::argument_list(GetParam());
    std::array<void*, lapack::max_words> words;
    words.fill(reinterpret_cast<void*>(1));  // the length of a letter
    for (const Argument argument : arguments) words[arguments.position(argument)] = example.bytes(argument).data();
    call(function(), words, std::make_index_sequence<lapack::max_words>());
    return example.integer(Argument::info);
  }

  static bool suffices(Example& example, Argument size, std::int64_t value) {
    example.set_integer(size, value);
    return example.call().valid();
  }

  static std::int64_t min_valid(Example& example, Argument size) {
    std::int64_t too_small = 0;
    std::int64_t enough = 1 << 20;
    while (enough - too_small > 1) {
      const std::int64_t middle = (too_small + enough) / 2;
      (suffices(example, size, middle) ? enough : too_small) = middle;
    }
    return enough;
  }

  static void make_room(Example& example, Argument argument) {
    constexpr std::size_t room = std::size_t{1} << 19;
    if (example.has(argument)) example.bytes(argument).assign(room, '\0');
  }

  static void compare(const Options& options, Argument size) {
    Example example(GetParam(), options);
    for (const Argument work : {Argument::work, Argument::rwork, Argument::iwork}) make_room(example, work);
    if (options.job == 'O' || options.job_right == 'O') {
      for (const Argument vectors : {Argument::z, Argument::right}) make_room(example, vectors);
      for (const Argument leading : {Argument::ldz, Argument::ld_right}) example.set_integer(leading, 100);
    }
    const std::int64_t least = min_valid(example, size);
    example.set_integer(size, least);
    EXPECT_GE(info_of(example), 0) << "enough: " << least << what(options);
    if (least == 1) return;  // LAPACK need not reject 0
    example.set_integer(size, least - 1);
    EXPECT_EQ(info_of(example), -1 - lapack::argument_list(GetParam()).position(size))
        << "too small: " << least - 1 << what(options);
  }

  static std::string what(const Options& options) {
    return std::string(" for ") + options.job + options.job_right + options.side + " m=" + std::to_string(options.m) +
           " n=" + std::to_string(options.n) + " k=" + std::to_string(options.k);
  }

  /// All options that change the work space, also a single row, and matrices on both sides of each ratio that LAPACK
  /// compares.
  static std::vector<Options> every_option() {
    std::vector<Options> result = options();
    if (kind() != Kind::gesdd && kind() != Kind::gesvd) {
      for (Options single : options()) {
        single.m = single.n = single.k = 1;
        if (single.range != 'I') result.push_back(single);
      }
      return result;
    }
    for (const auto& [m, n] : {std::pair{1, 1},
                               {30, 1},
                               {20, 20},
                               {31, 20},
                               {32, 20},
                               {33, 20},
                               {34, 20},
                               {36, 20},
                               {37, 20},
                               {38, 20},
                               {60, 20}})
      for (const char job : {'N', 'S', 'A', 'O'})
        for (const char job_right : {'N', 'S', 'A', 'O'}) {
          if (kind() == Kind::gesdd ? job != job_right : job == 'O' && job_right == 'O') continue;
          result.push_back({.m = m, .n = n, .job = job, .job_right = job_right});
          result.push_back({.m = n, .n = m, .job = job, .job_right = job_right});
        }
    return result;
  }
};

TEST_P(WorkSpace, IsEnoughWhereLapackFindsItEnough) {
  for (const Options& options : every_option())
    for (const Argument size : {Argument::lwork, Argument::lrwork, Argument::liwork})
      if (lapack::argument_list(GetParam()).has(size)) compare(options, size);
}

INSTANTIATE_TEST_SUITE_P(Every, WorkSpace, testing::ValuesIn(every_routine()), name_of);

}  // namespace
}  // namespace blastoff::test
