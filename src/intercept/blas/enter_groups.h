// Calls of gemm_batch and trsm_batch. The products or solves (called products, too) of a group have the same sizes, and
// a call has any number of groups. A group whose matrices form stacks becomes a call of its own. In another group, each
// product becomes a call of its own if the products are large. The other groups stay together, on the CPU. No function
// here owns anything while a call is made, since the program may leave an original by longjmp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <tuple>

#include "abi/arguments.h"
#include "abi/parse.h"
#include "blas/batch.h"
#include "intercept/blas/dispatch_call.h"
#include "intercept/blas/entry_points.h"
#include "intercept/passed_on.h"

namespace blastoff::intercept {

/// Products of consecutive groups, or some products of one group.
struct BatchPart {
  std::int64_t group = 0;     ///< the first group
  std::int64_t groups = 1;    ///< their number
  std::int64_t first = 0;     ///< position of the first product in the arrays of matrices
  std::int64_t products = 0;  ///< of one group; not used if there are several
};

/// The arguments of a call.
template <abi::Style style, blas::Kind kind, blas::Scalar scalar, class Integer, class... Values>
class Groups {
 public:
  explicit Groups(const PassedOn<Values...>& passed_on) : passed_on_(passed_on) {}

  std::int64_t count() const { return abi::size_of<Integer>(value<abi::Argument::group_count>()); }
  std::int64_t size(std::int64_t group) const { return at<Integer, abi::Argument::group_size>(group); }

  /// Reads the arguments of a part of one group.
  bool parse(blas::Call* call, blas::Routine routine, const BatchPart& part) const {
    using enum abi::Argument;
    abi::detail::Fields fields;
    if constexpr (style == abi::Style::cblas)
      if (!abi::detail::take<kind, scalar, Integer, order>(fields, value<order>())) return false;
    const std::int64_t group = part.group;
    if (!parse_options(fields, group)) return false;
    fields.m = at<Integer, m>(group);
    fields.n = at<Integer, n>(group);
    fields.alpha = at<abi::Element<scalar>, alpha>(group);
    fields.leading_dimensions[0] = at<Integer, lda>(group);
    fields.leading_dimensions[1] = at<Integer, ldb>(group);
    fields.products = part.products;
    find_matrices<a>(fields, 0, part);
    find_matrices<b>(fields, 1, part);
    if constexpr (blas::is_product_batch(kind)) {
      fields.k = at<Integer, k>(group);
      fields.beta = at<abi::Element<scalar>, beta>(group);
      fields.leading_dimensions[2] = at<Integer, ldc>(group);
      find_matrices<c>(fields, 2, part);
    }
    return abi::detail::state<style, kind, scalar>(call, routine, fields);
  }

  /// The arguments of a call for a part alone.
  class Slice {
   public:
    Slice(const Groups& all, const BatchPart& part)
        : groups_(static_cast<Integer>(part.groups)),
          products_(static_cast<Integer>(part.products)),
          arguments_(arguments(all, part, abi::Arguments<style, kind>{})) {}
    Slice(const Slice&) = delete;
    Slice& operator=(const Slice&) = delete;

    RawArguments raw() const { return {&PassedOn<Values...>::invoke, &arguments_}; }

   private:
    template <abi::Argument... each>
    PassedOn<Values...> arguments(const Groups& all, const BatchPart& part, abi::ArgumentList<each...> list) const {
      return {{shifted<each>(std::get<abi::position(each, list)>(all.passed_on_.values), part)...},
              all.passed_on_.caller};
    }

    template <abi::Argument argument, class Value>
    Value shifted(Value value, const BatchPart& part) const {
      using enum abi::Argument;
      if constexpr (argument == order || argument == length) {
        return value;
      } else if constexpr (argument == group_count) {
        if constexpr (style == abi::Style::fortran)
          return &groups_;
        else
          return part.groups;
      } else if constexpr (argument == group_size) {
        return part.groups == 1 ? static_cast<Value>(&products_) : behind<Integer>(value, part.group);
      } else if constexpr (abi::detail::is_option(argument)) {
        return behind<std::conditional_t<style == abi::Style::fortran, char, int>>(value, part.group);
      } else if constexpr (argument == alpha || argument == beta) {
        return behind<abi::Element<scalar>>(value, part.group);
      } else if constexpr (argument == a || argument == b || argument == c) {
        return behind<void*>(value, part.first);
      } else {
        return behind<Integer>(value, part.group);
      }
    }

    template <class Each>
    static const void* behind(const void* array, std::int64_t index) {
      return static_cast<const char*>(array) + index * static_cast<std::int64_t>(sizeof(Each));
    }

    const Integer groups_;
    const Integer products_;
    const PassedOn<Values...> arguments_;
  };

 private:
  template <abi::Argument argument>
  auto value() const {
    return std::get<abi::position(argument, abi::Arguments<style, kind>{})>(passed_on_.values);
  }

  bool parse_options(abi::detail::Fields& fields, std::int64_t group) const {
    using enum abi::Argument;
    using Option = std::conditional_t<style == abi::Style::fortran, char, int>;
    if (!abi::parse_option(at<Option, transpose_a>(group), fields.transpose_a)) return false;
    if constexpr (blas::is_product_batch(kind))
      return abi::parse_option(at<Option, transpose_b>(group), fields.transpose_b);
    else
      return abi::parse_option(at<Option, side>(group), fields.side) &&
             abi::parse_option(at<Option, uplo>(group), fields.uplo) &&
             abi::parse_option(at<Option, diagonal>(group), fields.diagonal);
  }

  template <class Each, abi::Argument argument>
  Each at(std::int64_t index) const {
    return abi::detail::load<Each>(static_cast<const char*>(value<argument>()) +
                                   index * static_cast<std::int64_t>(sizeof(Each)));
  }

  /// Sets the address of the first matrix, and the stride if there is one.
  template <abi::Argument argument>
  void find_matrices(abi::detail::Fields& fields, std::size_t operand, const BatchPart& part) const {
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();
    constexpr auto element = static_cast<std::intptr_t>(sizeof(abi::Element<scalar>));
    if (part.products <= 0) return;
    const auto address = [&](std::int64_t number) { return at<std::intptr_t, argument>(part.first + number); };
    fields.addresses[operand] = reinterpret_cast<void*>(address(0));
    if (part.products == 1) return;
    const std::intptr_t step = address(1) - address(0);
    bool even = step % element == 0;
    for (std::int64_t i = 2; even && i < part.products; ++i) even = address(i) - address(i - 1) == step;
    fields.strides[operand] = even ? step / element : none;
  }

  const PassedOn<Values...>& passed_on_;
};

/// Makes the calls of one call.
template <abi::Style style, blas::Kind kind, blas::Scalar scalar, class Integer, class... Values>
class GroupedCall {
 public:
  GroupedCall(const InterceptedCall& intercepted, const PassedOn<Values...>& passed_on)
      : intercepted_(intercepted), arguments_(passed_on), routine_(blas_routine(intercepted.entry.routine)) {}

  void make() {
    if (arguments_.count() == 1) return make_single_group();
    if (!valid()) return dispatch(intercepted_, nullptr);  // the original reports the error
    BatchPart group{};
    BatchPart rest{.groups = 0};
    for (; group.group < arguments_.count(); ++group.group) {
      group.products = arguments_.size(group.group);
      const Way way = way_of(group);
      if (way == Way::with_others) {
        if (++rest.groups == 1) rest.products = group.products;
      } else {
        make(rest);
        if (way == Way::alone)
          make(group);
        else
          make_each(group);
        rest = {.group = group.group + 1, .groups = 0, .first = group.first + group.products};
      }
      group.first += group.products;
    }
    make(rest);
  }

 private:
  /// A call that stays on the CPU after all must keep all of its cores busy, as it does together with the others: by
  /// many products with so many multiplications together, or by products of which each is large.
  static constexpr double worth_a_call = 250.0 * 250 * 250;
  static constexpr double large_product = 400.0 * 400 * 400;
  static constexpr std::int64_t many_products = 64;

  enum class Way : std::uint8_t { with_others, alone, one_by_one };

  /// The usual call. Its arrays, which may be long, are read once.
  void make_single_group() const {
    const BatchPart group{.products = arguments_.size(0)};
    blas::Call call;
    if (!arguments_.parse(&call, routine_, group)) return dispatch(intercepted_, nullptr);
    if (way_of(call) == Way::one_by_one) return make_each(group);
    dispatch_call<kind, scalar>(intercepted_, &call);
  }

  bool valid() const {
    BatchPart group{};
    for (; group.group < arguments_.count(); ++group.group) {
      group.products = arguments_.size(group.group);
      blas::Call call;
      if (!arguments_.parse(&call, routine_, group) || !blas::valid(call)) return false;
      group.first += group.products;
    }
    return arguments_.count() > 0;
  }

  Way way_of(const BatchPart& group) const {
    blas::Call call;
    arguments_.parse(&call, routine_, group);
    return way_of(call);
  }

  static Way way_of(const blas::Call& call) {
    if (blas::trivial(call)) return Way::with_others;
    const bool large = blas::volume(call) >= large_product * static_cast<double>(call.products);
    if (blas::is_scattered(call)) return large ? Way::one_by_one : Way::with_others;
    const bool many = call.products >= many_products && blas::volume(call) >= worth_a_call;
    return large || many ? Way::alone : Way::with_others;
  }

  void make_each(const BatchPart& group) const {
    for (std::int64_t i = 0; i < group.products; ++i)
      make({.group = group.group, .groups = 1, .first = group.first + i, .products = 1});
  }

  void make(const BatchPart& part) const {
    if (part.groups == 0) return;
    const typename decltype(arguments_)::Slice slice(arguments_, part);
    const RawArguments raw = slice.raw();
    const InterceptedCall own{intercepted_.entry,     intercepted_.original, raw,
                              intercepted_.front_end, intercepted_.routine,  intercepted_.host,
                              intercepted_.caller};
    if (part.groups > 1) return dispatch_together(own, part);
    blas::Call call;
    arguments_.parse(&call, routine_, part);
    dispatch_call<kind, scalar>(own, &call);
  }

  /// Several groups, which only the CPU can compute in one call.
  void dispatch_together(const InterceptedCall& own, const BatchPart& part) const {
    Parsed parsed{.valid = true, .supported = false};
    BatchPart group{.group = part.group, .first = part.first};
    for (std::int64_t i = 0; i < part.groups; ++i, ++group.group) {
      group.products = arguments_.size(group.group);
      blas::Call call;
      arguments_.parse(&call, routine_, group);
      parsed.volume += blas::volume(call);
      parsed.flops += blas::flops(call);
      group.first += group.products;
    }
    dispatch(own, &parsed);
  }

  const InterceptedCall& intercepted_;
  const Groups<style, kind, scalar, Integer, Values...> arguments_;
  const blas::Routine routine_;
};

template <abi::Style style, blas::Kind kind, blas::Scalar scalar, class Integer, class... Values>
void enter_groups(const InterceptedCall& intercepted, const PassedOn<Values...>& passed_on) {
  GroupedCall<style, kind, scalar, Integer, Values...>(intercepted, passed_on).make();
}

}  // namespace blastoff::intercept
