#include "fft/dfti.h"

#include <algorithm>

namespace blastoff::fft {
using namespace dfti_codes;

DftiDescription::Answer DftiDescription::answer(void* descriptor, Parameter parameter) const {
  Answer answer;
  answer.given = ask_(descriptor, parameter, answer.values.data()) == 0;
  if (!answer.given) answer.values = {};
  return answer;
}

const DftiDescription::Answer& DftiDescription::known(Parameter parameter) const {
  return answers_[static_cast<std::size_t>(std::ranges::find(parameters, parameter) - parameters.begin())];
}

/// Whether MKL has answered all that describes a transform, by the old names or by the new ones.
bool DftiDescription::is_complete() const {
  const auto gives = [&](auto... names) { return (known(names).given && ...); };
  return gives(domain, lengths, precision, number_of_transforms, placement) &&
         (gives(input_strides, output_strides) || gives(forward_strides, backward_strides)) &&
         (gives(input_distance, output_distance) || gives(forward_distance, backward_distance));
}

bool DftiDescription::fits(const Transform& transform) const {
  const Request& request = transform.request;
  const auto dims = transform.dims.all();
  const Values& told = known(lengths).values;
  const bool same_lengths = dims.size() <= max_dimensions &&
                            std::ranges::equal(dims, std::span(told).first(dims.size()), {}, &Dimension::length) &&
                            told[dims.size()] == 0;
  std::int64_t batches = 1;
  for (const Dimension& batch : transform.batches.all()) batches *= batch.length;
  return same_lengths && known(number_of_transforms).values.front() == batches &&
         number(domain) == (request.kind == Kind::c2c ? complex_domain : real_domain) &&
         number(precision) == (request.precision == Precision::f64 ? double_precision : single_precision) &&
         number(placement) == (request.in_place ? in_place : not_in_place);
}

std::optional<DftiDescription> DftiDescription::read(DftiGetValue* ask, void* descriptor, const Transform& expected) {
  DftiDescription description;
  description.ask_ = ask;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    description.answers_[i] = description.answer(descriptor, parameters[i]);
  if (!description.is_complete() || !description.fits(expected)) return std::nullopt;
  return description;
}

bool DftiDescription::is_of(void* descriptor) const {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!answers_[i].given) continue;
    const Answer now = answer(descriptor, parameters[i]);
    if (!now.given || now.values != answers_[i].values) return false;
  }
  return true;
}

}  // namespace blastoff::fft
