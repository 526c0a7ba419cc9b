// Machine models: their files and their predictions.
#include "decide/machine_model.h"

#include <gtest/gtest.h>

#include <string>

#include "../lapack/example.h"
#include "blas/shape.h"
#include "blas_front_end.h"
#include "decide/model_file.h"
#include "decide/predicted_times.h"

namespace blastoff::decide {
namespace {

using blas::Routine;

const bool lapack_added = [] {
  operation::add_front_end(lapack::lapack());
  return true;
}();

operation::Operation product_of(Routine routine, std::int64_t m, std::int64_t n, std::int64_t k) {
  static char memory[3];
  blas::Call call;
  call.routine = routine;
  call.m = m;
  call.n = n;
  call.k = k;
  void* addresses[3] = {&memory[0], &memory[1], &memory[2]};
  const std::int64_t leading_dimensions[3] = {m, k, m};
  blas::shape_operands(call, addresses, leading_dimensions);
  return call;
}

constexpr const char* whole = R"({
  "blastoff_machine": 1, "name": "a machine", "later": {"key": 1},
  "gpu": {"names": ["NVIDIA H200*", "a GPU"], "memory_rate": 1e12, "open_seconds": 2, "close_seconds": 0.5, "call_seconds": 1e-5,
          "rates": [{"family": "gemm", "precision": "d", "points": [[1e6, 1e10], [1e8, 1e12]]},
                    {"family": "of later versions", "precision": "d", "points": [[1e6, 1e10]]}]},
  "link": {"to_device": 5e10, "staged_to_device": 4e10, "from_device": 6e10},
  "tracking": {"page_seconds": 1e-9},
  "host": {"name": "here", "cpu": "a CPU", "cores": 8, "memory_rate": 2e11, "device_memory_rate": 1e11, "blas": {"file": "libopenblas.so"},
           "rates": [{"family": "gemm", "precision": "d", "threads": 8, "points": [[1e6, 4e11]]},
                     {"family": "gemm", "precision": "d", "threads": 1, "points": [[1e6, 5e10]]}]}})";

TEST(ModelFile, IsRead) {
  const auto file = parse_model(whole);
  ASSERT_TRUE(file) << file.error();
  EXPECT_EQ(file->model.name, "a machine");
  EXPECT_EQ(file->model.to_device, 4e10) << "as matrices come";
  EXPECT_EQ(file->model.direct_to_device, 5e10);
  EXPECT_EQ(file->model.from_device, 6e10);
  EXPECT_EQ(file->model.open_seconds, 2);
  EXPECT_EQ(file->model.close_seconds, 0.5);
  EXPECT_EQ(file->cpu_memory_rate, 2e11);
  EXPECT_EQ(file->model.cpu_device_memory_rate, 1e11) << "of the machine, whatever BLAS the CPU uses";
  EXPECT_EQ(file->blas, "libopenblas.so");
  EXPECT_EQ(file->cores, 8);
  const RateKey gemm{Family::gemm, Precision::d};
  EXPECT_NEAR(file->cpu_rates_on(1)->rate(gemm, 1e6), 5e10, 1e6);
  EXPECT_NEAR(file->cpu_rates_on(4)->rate(gemm, 1e6), 5e10, 1e6) << "the next fewer";
  EXPECT_NEAR(file->cpu_rates_on(64)->rate(gemm, 1e6), 4e11, 1e7);
}

TEST(ModelFile, DescribesGpusByPattern) {
  const auto file = parse_model(whole);
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->describes("NVIDIA H200 NVL"));
  EXPECT_TRUE(file->describes("a GPU"));
  EXPECT_FALSE(file->describes("NVIDIA H100"));
  EXPECT_FALSE(file->describes("a GPU 2"));
  EXPECT_TRUE(matches("*A100*PCI*", "NVIDIA A100-PCIE-40GB"));
  EXPECT_FALSE(matches("*A100*PCI*", "NVIDIA A100-SXM4-40GB"));
}

TEST(ModelFile, SaysWhatIsWrong) {
  const auto error = [](const std::string& text) {
    const auto file = parse_model(text);
    return file ? std::string("read") : file.error();
  };
  EXPECT_EQ(error(""), "it is not JSON");
  EXPECT_EQ(error("{\"blastoff_machine\": 1"), "it is not JSON");
  EXPECT_EQ(error("[1]"), "it is not JSON");
  EXPECT_EQ(error("{}"), "it is no machine model");
  EXPECT_EQ(error(R"({"blastoff_machine": 2})"), "it is of another version of Blastoff");
  const std::string begin = R"({"blastoff_machine": 1, )";
  EXPECT_EQ(error(begin + R"("link": {"to_device": 0}})"), "the value of to_device is wrong");
  EXPECT_EQ(error(begin + R"("link": {"from_device": "fast"}})"), "the value of from_device is wrong");
  EXPECT_EQ(error(begin + R"("gpu": {"open_seconds": 1e300}})"), "the value of open_seconds is wrong");
  EXPECT_EQ(error(begin + R"("gpu": {"names": [1]}})"), "the value of names is wrong");
  EXPECT_EQ(error(begin + R"("gpu": {"rates": {}}})"), "the value of rates is wrong");
  const auto points = [&](const std::string& list) {
    return error(begin + R"("gpu": {"rates": [{"family": "gemm", "precision": "d", "points": )" + list + "}]}}");
  };
  EXPECT_EQ(points("[[1e9, 1e12]]"), "read");
  for (const char* wrong : {"[]", "[1]", "[[1e9]]", "[[1e9, -1]]", "[[2e9, 1e12], [1e9, 1e12]]", "[[1e9, null]]"})
    EXPECT_EQ(points(wrong), "the value of points is wrong") << wrong;
}

TEST(RateTable, InterpolatesLogarithms) {
  RateTable table;
  const RatePoint points[] = {{1e6, 1e10}, {1e8, 1e12}};
  const RateKey gemm{Family::gemm, Precision::d};
  EXPECT_EQ(table.rate(gemm, 1e7), 0);
  table.set(gemm, points);
  EXPECT_NEAR(table.rate(gemm, 1e7), 1e11, 1e7);
  EXPECT_NEAR(table.rate(gemm, 1), 1e10, 1e6) << "as at the outermost point";
  EXPECT_NEAR(table.rate(gemm, 1e15), 1e12, 1e8);
}

TEST(RateTable, GuessesOtherPrecisionsFromTheNearest) {
  RateTable table;
  const RatePoint slow[] = {{1e6, 1e10}};
  const RatePoint fast[] = {{1e6, 3e10}};
  const auto rate = [&](Precision precision) { return table.rate({Family::trsm, precision}, 1e6); };
  table.set({Family::trsm, Precision::d}, slow);
  EXPECT_NEAR(rate(Precision::s), 2e10, 1e6);
  EXPECT_NEAR(rate(Precision::z), 1e10, 1e6);
  EXPECT_NEAR(rate(Precision::c), 2e10, 1e6);
  table.set({Family::trsm, Precision::z}, fast);
  EXPECT_NEAR(rate(Precision::z), 3e10, 1e6) << "measured";
  EXPECT_NEAR(rate(Precision::c), 6e10, 1e6) << "by z rather than by d";
  EXPECT_NEAR(rate(Precision::s), 2e10, 1e6) << "by d still";
  EXPECT_EQ(table.rate({Family::gemm, Precision::d}, 1e6), 0);
}

TEST(Family, OfRoutines) {
  const auto is = [](const char* routine, Family family, Precision precision) {
    return rate_key_of(routine) == RateKey{family, precision};
  };
  EXPECT_TRUE(is("dgemm", Family::gemm, Precision::d));
  EXPECT_TRUE(is("cher2k", Family::syrk, Precision::c));
  EXPECT_TRUE(is("zheevd", Family::syevd, Precision::z));
  EXPECT_TRUE(is("sgesv", Family::getrf, Precision::s));
  EXPECT_TRUE(is("fftw_execute_dft", Family::fft, Precision::z));
  EXPECT_TRUE(is("fftwf_execute_dft_r2c", Family::fft, Precision::s));
  EXPECT_EQ(rate_key_of("dgeev"), std::nullopt);
  EXPECT_EQ(rate_key_of(""), std::nullopt);
}

TEST(MachineModel, PredictsSeconds) {
  const auto file = parse_model(whole);
  ASSERT_TRUE(file);
  const MachineModel& model = file->model;
  const auto large = product_of(Routine::dgemm, 500, 500, 2000);  // 1e9 operations, 20 MB
  EXPECT_NEAR(model.device_seconds_of(large), 1e-5 + 1e9 / 1e12 + 18e6 / 4096 * 1e-9, 1e-6);
  const auto flat = product_of(Routine::dgemm, 10000, 10000, 1);  // 2e8 operations, 800 MB
  EXPECT_NEAR(model.device_seconds_of(flat), 1e-5 + 8e8 / 1e12 + 8e8 / 4096 * 1e-9, 1e-5) << "as memory is read";
  EXPECT_EQ(model.cpu_seconds_of(large), 0) << "unknown";
  EXPECT_NEAR(model.min_cpu_seconds_of(large), 1e9 / 720e9, 1e-9);
  MachineModel here = model;
  here.cpu_rates = *file->cpu_rates_on(8);
  EXPECT_NEAR(here.cpu_seconds_of(large), 1e9 / 4e11, 1e-6);
  EXPECT_LT(here.min_cpu_seconds_of(large), here.cpu_seconds_of(large));
}

TEST(MachineModel, KnowsThatCpusReduceMatricesSlowly) {
  const MachineModel model;
  const auto product = product_of(Routine::dgemm, 100, 100, 100);
  test::Example example(lapack::Routine::dgesdd, {.m = 100, .n = 100, .job = 'S'});
  const auto values = example.call().operation();
  EXPECT_GT(model.min_cpu_seconds_of(values) / values.work.flops,
            3 * model.min_cpu_seconds_of(product) / product.work.flops);
}

TEST(MachineModel, KnowsOtherFamiliesFromTheProducts) {
  MachineModel model;
  test::Example example(lapack::Routine::dgetrf, {.m = 10, .n = 10});
  auto factorization = example.call().operation();
  factorization.work.flops = 3.4e11;
  EXPECT_EQ(model.max_device_seconds_of(factorization), 0) << "no rate is known";
  model.device_rates.set({Family::gemm, Precision::d}, std::array{RatePoint{1, 10e12}});
  const double seconds = model.max_device_seconds_of(factorization);
  EXPECT_GT(seconds, factorization.work.flops / 1e12) << "its rate is a twentieth of that of products";
  EXPECT_LT(seconds, factorization.work.flops / 0.2e12) << "but a fiftieth at least";
  factorization.work.flops = 2e10;
  EXPECT_EQ(model.max_device_seconds_of(factorization), 0) << "its share is smaller and not known";
  const auto product = product_of(Routine::dgemm, 1000, 1000, 1000);
  EXPECT_EQ(model.max_device_seconds_of(product), model.device_seconds_of(product));
}

/// The contents of the device's memory are unknown.
class Unknown final : public operation::Estimator {
 public:
  std::optional<operation::Estimate> estimate(const operation::Operation&) override { return std::nullopt; }
};

TEST(MachineModel, TellsWithoutATrialWhereACallRuns) {
  const auto file = parse_model(whole);
  ASSERT_TRUE(file);
  const MachineModel assumed;
  LinkRate link(assumed);
  PredictedTimes times(assumed, link);
  Unknown residency;
  const auto call = product_of(Routine::dgemm, 4000, 40, 4000);  // 1.28e9 operations, 128 MB to bring
  EXPECT_EQ(times.judge(call, residency, nullptr), Refusal::not_timed);
  MachineModel known = file->model;
  known.cpu_rates = *file->cpu_rates_on(1);
  times.use(known);
  link.assume(known);
  PredictedSeconds predicted;
  EXPECT_EQ(times.judge(call, residency, &predicted), Refusal::none);
  EXPECT_NEAR(predicted.cpu_seconds, 1.28e9 / 5e10, 1e-5);
  EXPECT_NEAR(predicted.bringing_seconds, 129.28e6 / 4e10, 1e-6);
  known.cpu_rates = *file->cpu_rates_on(8);
  EXPECT_EQ(times.judge(call, residency, nullptr), Refusal::not_reused) << "bringing it has to pay first";
  // Measured times of calls take precedence over the model.
  times.observe(call, {.on_device = false, .seconds = 1e-5});
  EXPECT_EQ(times.judge(call, residency, nullptr), Refusal::cpu_faster);
}

TEST(MachineModel, ItsLinkIsReplacedByWhatUploadsShow) {
  MachineModel model;
  LinkRate link(model);
  PredictedTimes times(model, link);
  Unknown residency;
  const auto call = product_of(Routine::dgemm, 4000, 4000, 4000);
  PredictedSeconds before;
  PredictedSeconds after;
  times.judge(call, residency, &before);
  link.learn({.on_device = true,
              .operands_kept = true,
              .seconds = 0.1,
              .bytes_to_device = std::uint64_t{256} << 20,
              .transfer_seconds = (std::uint64_t{256} << 20) / 5e10});
  times.judge(call, residency, &after);
  EXPECT_NEAR(after.bringing_seconds, before.bringing_seconds / 2, 1e-5);
}

}  // namespace
}  // namespace blastoff::decide
