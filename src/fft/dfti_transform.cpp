#include "fft/dfti_transform.h"

#include <cstring>

namespace blastoff::fft {
namespace {

using namespace dfti_codes;

class Descriptor {
 public:
  Descriptor(DftiGetValue* ask, void* descriptor, int sign) : ask_(ask), descriptor_(descriptor), sign_(sign) {}

  std::optional<DftiTransform> transform() const {
    DftiTransform result;
    if (!is(commit_status, committed) || !read_sizes(result.sizes)) return std::nullopt;
    result.whole = with_layout(result.sizes);
    return result;
  }

 private:
  bool get(Parameter parameter, void* value) const { return ask_(descriptor_, parameter, value) == 0; }

  bool is(Parameter parameter, Value wanted) const {
    Values values{};
    return get(parameter, values.data()) && static_cast<int>(values.front()) == wanted;
  }

  bool forward() const { return sign_ < 0; }

  bool read_sizes(Transform& sizes) const {
    const bool real = is(domain, real_domain);
    const bool single = is(precision, single_precision);
    if ((!real && !is(domain, complex_domain)) || (!single && !is(precision, double_precision))) return false;
    sizes.request.kind = !real ? Kind::c2c : forward() ? Kind::r2c : Kind::c2r;
    sizes.request.precision = single ? Precision::f32 : Precision::f64;
    sizes.request.sign = sign_;
    sizes.request.in_place = is(placement, in_place);
    Values rank{}, told{}, number{};
    if (!get(dimension, rank.data()) || !get(lengths, told.data()) || !get(number_of_transforms, number.data()))
      return false;
    if (rank.front() < 1 || rank.front() > static_cast<long>(max_dimensions)) return false;
    for (std::size_t i = 0; i < static_cast<std::size_t>(rank.front()); ++i)
      if (told[i] < 1 || !sizes.dims.add({.length = told[i]})) return false;
    return number.front() >= 1 && sizes.batches.add({.length = number.front()});
  }

  std::optional<Transform> with_layout(const Transform& sizes) const {
    const bool real = sizes.request.kind != Kind::c2c;
    if (!is(real ? conjugate_even_storage : complex_storage, complex_numbers) || !is(ordering, ordered) ||
        !is(transposition, not_transposed))
      return std::nullopt;
    Transform laid = sizes;
    if (!read_strides(laid.dims) || !read_distances(laid.batches.all().front())) return std::nullopt;
    auto whole = guru(laid.request, laid.dims.all(), laid.batches.all());
    if (!whole || !read_factor(*whole)) return std::nullopt;
    return whole;
  }

  /// Reads a value of both sides. The program has set it either for input and output, whatever the direction, or for
  /// the forward and the backward domain. If it has set the former, MKL answers 0 for the latter; if not, MKL answers
  /// for the latter alone.
  bool read_sides(Parameter input, Parameter output, Parameter first, Parameter second, Values& in, Values& out) const {
    if (get(input, in.data()) && get(output, out.data())) return true;
    return get(first, (forward() ? in : out).data()) && get(second, (forward() ? out : in).data());
  }

  bool read_strides(Dimensions& dims) const {
    Values in{}, out{};
    if (!read_sides(input_strides, output_strides, forward_strides, backward_strides, in, out)) return false;
    if (in.front() != 0 || out.front() != 0) return false;
    std::size_t i = 0;
    for (Dimension& dim : dims.all()) {
      ++i;
      dim.in_stride = in[i];
      dim.out_stride = out[i];
    }
    return true;
  }

  bool read_distances(Dimension& batch) const {
    Values in{}, out{};
    if (!read_sides(input_distance, output_distance, forward_distance, backward_distance, in, out)) return false;
    batch.in_stride = in.front();
    batch.out_stride = out.front();
    return true;
  }

  /// A scale has the precision of the transform.
  bool read_factor(Transform& transform) const {
    Values told{};
    if (!get(forward() ? forward_scale : backward_scale, told.data())) return false;
    float narrow = 0;
    std::memcpy(&narrow, told.data(), sizeof narrow);
    std::memcpy(&transform.factor, told.data(), sizeof transform.factor);
    if (transform.request.precision == Precision::f32) transform.factor = static_cast<double>(narrow);
    return true;
  }

  DftiGetValue* const ask_;
  void* const descriptor_;
  const int sign_;
};

}  // namespace

std::optional<DftiTransform> transform_of_descriptor(DftiGetValue* ask, void* descriptor, int sign) {
  return Descriptor(ask, descriptor, sign).transform();
}

}  // namespace blastoff::fft
