#include "fftw_plans.h"

#include <cstddef>

#include "memory.h"

#ifdef WITH_FFTW
#include <fftw3.h>
#endif

namespace coherence {

std::mutex& planner_mutex() {
  static std::mutex mutex;
  return mutex;
}

#ifdef WITH_FFTW

namespace {

constexpr unsigned flags = FFTW_ESTIMATE | FFTW_UNALIGNED | FFTW_PRESERVE_INPUT;

/// The functions of one precision.
#define API(Name, p, Number)                                 \
  struct Name {                                              \
    using Real = Number;                                     \
    using Complex = p##complex;                              \
    using Plan = p##plan;                                    \
    using Dim = p##iodim64;                                  \
    static constexpr auto plan_3d = p##plan_dft_3d;          \
    static constexpr auto many = p##plan_many_dft;           \
    static constexpr auto many_r2c = p##plan_many_dft_r2c;   \
    static constexpr auto many_c2r = p##plan_many_dft_c2r;   \
    static constexpr auto guru = p##plan_guru64_dft;         \
    static constexpr auto guru_r2c = p##plan_guru64_dft_r2c; \
    static constexpr auto guru_c2r = p##plan_guru64_dft_c2r; \
    static constexpr auto execute = p##execute_dft;          \
    static constexpr auto execute_r2c = p##execute_dft_r2c;  \
    static constexpr auto execute_c2r = p##execute_dft_c2r;  \
    static constexpr auto destroy = p##destroy_plan;         \
  };
API(Double, fftw_, double)
API(Single, fftwf_, float)
#undef API

/// Whether the layout has three dimensions without gaps.
bool is_dense(const TransformLayout& layout) {
  if (layout.dims.size() != 3 || !layout.batches.empty() || layout.kind != TransformKind::c2c) return false;
  const auto& dims = layout.dims;
  const auto fits = [&](const TransformLoop& loop, int stride) {
    return loop.in_stride == stride && loop.out_stride == stride;
  };
  return fits(dims[2], 1) && fits(dims[1], dims[2].length) && fits(dims[0], dims[1].length * dims[2].length);
}

template <class Api>
typename Api::Plan plan_many(const TransformLayout& layout, void* in, void* out) {
  using Complex = typename Api::Complex;
  using Real = typename Api::Real;
  const TransformLoop& dim = layout.dims[0];
  const TransformLoop batch = layout.batches.empty() ? TransformLoop{1, 0, 0} : layout.batches[0];
  const int n = dim.length, count = batch.length;
  switch (layout.kind) {
    case TransformKind::r2c:
      return Api::many_r2c(1, &n, count, static_cast<Real*>(in), nullptr, dim.in_stride, batch.in_stride,
                           static_cast<Complex*>(out), nullptr, dim.out_stride, batch.out_stride, flags);
    case TransformKind::c2r:
      return Api::many_c2r(1, &n, count, static_cast<Complex*>(in), nullptr, dim.in_stride, batch.in_stride,
                           static_cast<Real*>(out), nullptr, dim.out_stride, batch.out_stride, flags);
    case TransformKind::c2c: break;
  }
  return Api::many(1, &n, count, static_cast<Complex*>(in), nullptr, dim.in_stride, batch.in_stride,
                   static_cast<Complex*>(out), nullptr, dim.out_stride, batch.out_stride, layout.sign, flags);
}

template <class Api>
typename Api::Plan plan_guru(const TransformLayout& layout, void* in, void* out) {
  using Complex = typename Api::Complex;
  using Real = typename Api::Real;
  const auto converted = [](const std::vector<TransformLoop>& loops) {
    std::vector<typename Api::Dim> result;
    for (const TransformLoop& loop : loops) result.push_back({loop.length, loop.in_stride, loop.out_stride});
    return result;
  };
  const auto dims = converted(layout.dims), batches = converted(layout.batches);
  const int rank = static_cast<int>(dims.size()), loops = static_cast<int>(batches.size());
  switch (layout.kind) {
    case TransformKind::r2c:
      return Api::guru_r2c(rank, dims.data(), loops, batches.data(), static_cast<Real*>(in), static_cast<Complex*>(out),
                           flags);
    case TransformKind::c2r:
      return Api::guru_c2r(rank, dims.data(), loops, batches.data(), static_cast<Complex*>(in), static_cast<Real*>(out),
                           flags);
    case TransformKind::c2c: break;
  }
  return Api::guru(rank, dims.data(), loops, batches.data(), static_cast<Complex*>(in), static_cast<Complex*>(out),
                   layout.sign, flags);
}

template <class Api>
void* make_plan(const TransformLayout& layout, void* in, void* out) {
  const std::lock_guard lock(planner_mutex());
  if (is_dense(layout)) {
    using Complex = typename Api::Complex;
    return Api::plan_3d(layout.dims[0].length, layout.dims[1].length, layout.dims[2].length, static_cast<Complex*>(in),
                        static_cast<Complex*>(out), layout.sign, flags);
  }
  return layout.dims.size() == 1 ? plan_many<Api>(layout, in, out) : plan_guru<Api>(layout, in, out);
}

template <class Api>
void execute_plan(void* handle, TransformKind kind, void* in, void* out) {
  using Complex = typename Api::Complex;
  using Real = typename Api::Real;
  const auto plan = static_cast<typename Api::Plan>(handle);
  switch (kind) {
    case TransformKind::c2c: return Api::execute(plan, static_cast<Complex*>(in), static_cast<Complex*>(out));
    case TransformKind::r2c: return Api::execute_r2c(plan, static_cast<Real*>(in), static_cast<Complex*>(out));
    case TransformKind::c2r: return Api::execute_c2r(plan, static_cast<Complex*>(in), static_cast<Real*>(out));
  }
}

}  // namespace

bool has_fftw() {
  return true;
}

FftwPlan::FftwPlan(const TransformLayout& layout, void* in, void* out)
    : kind_(layout.kind),
      single_(layout.single),
      handle_(layout.single ? make_plan<Single>(layout, in, out) : make_plan<Double>(layout, in, out)) {
  if (handle_ == nullptr) fail_call("fftw_plan");
}

FftwPlan::~FftwPlan() {
  const std::lock_guard lock(planner_mutex());
  if (single_)
    Single::destroy(static_cast<Single::Plan>(handle_));
  else
    Double::destroy(static_cast<Double::Plan>(handle_));
}

void FftwPlan::execute(void* in, void* out) const {
  if (single_)
    execute_plan<Single>(handle_, kind_, in, out);
  else
    execute_plan<Double>(handle_, kind_, in, out);
}

#else

bool has_fftw() {
  return false;
}

FftwPlan::FftwPlan(const TransformLayout& layout, void* in, void* out) : kind_(layout.kind), single_(layout.single) {
  static_cast<void>(in);
  static_cast<void>(out);
  fail_call("fftw_plan");
}
FftwPlan::~FftwPlan() = default;
void FftwPlan::execute(void* in, void* out) const {
  static_cast<void>(in);
  static_cast<void>(out);
}

#endif

}  // namespace coherence
