// Finding NVIDIA's libraries, and the advice that is printed where they are missing.
#include "device/gpu/cuda/cublas/library.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/gpu/cuda/executors.h"
#include "device/gpu/cuda/search_path.h"

namespace blastoff::device::gpu::cuda {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// The test's own directory, with the relevant environment variables unset.
class CudaLibraries : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / ("cuda-libraries-" + std::to_string(getpid()));
    fs::create_directories(root_);
    for (const char* name : {"CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX", "VIRTUAL_ENV", "LD_LIBRARY_PATH"})
      unsetenv(name);
    setenv("HOME", root_.c_str(), 1);
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string make_directory(const std::string& below) const {
    const auto directory = root_ / below;
    fs::create_directories(directory);
    return directory.string();
  }

  fs::path root_;
};

TEST_F(CudaLibraries, AreLookedForInAToolkit) {
  const auto lib64 = make_directory("toolkit/lib64");
  const auto target = make_directory("toolkit/targets/some-linux/lib");
  setenv("CUDA_HOME", (root_ / "toolkit").c_str(), 1);
  const auto directories = default_directories();
  EXPECT_EQ(directories.at(0), (root_ / "toolkit").string());
  EXPECT_THAT(directories, Contains(lib64));
  EXPECT_THAT(directories, Contains(target));
}

TEST_F(CudaLibraries, AreLookedForInNvidiasWheels) {
  const auto in_environment = make_directory("venv/lib/python3.12/site-packages/nvidia/cublas/lib");
  const auto newer = make_directory("venv/lib/python3.12/site-packages/nvidia/cu13/lib");
  const auto of_user = make_directory(".local/lib/python3.11/site-packages/nvidia/cublas/lib");
  EXPECT_THAT(default_directories(), Not(Contains(in_environment)));
  EXPECT_THAT(default_directories(), Contains(of_user));
  setenv("VIRTUAL_ENV", (root_ / "venv").c_str(), 1);
  const auto directories = default_directories();
  const auto place = [&](const std::string& directory) {
    return std::find(directories.begin(), directories.end(), directory) - directories.begin();
  };
  EXPECT_LT(place(newer), place(in_environment));
  EXPECT_LT(place(in_environment), place(of_user));
  EXPECT_LT(place(of_user), static_cast<std::ptrdiff_t>(directories.size()));
}

TEST_F(CudaLibraries, AreLookedForInThePythonOfThePath) {
  const auto wheel = make_directory("conda/lib/python3.10/site-packages/nvidia/cublas/lib");
  make_directory("conda/bin");
  std::ofstream(root_ / "conda/bin/python3") << "#!/bin/sh\n";
  const std::string path = std::getenv("PATH");
  setenv("PATH", ((root_ / "conda/bin").string() + ":" + path).c_str(), 1);
  EXPECT_THAT(default_directories(), Contains(wheel));
  setenv("PATH", path.c_str(), 1);
}

TEST_F(CudaLibraries, AFileThatCannotBeLoadedIsNamed) {
  const auto directory = make_directory("broken/lib64");
  std::ofstream(fs::path(directory) / "libcublas.so.12") << "not a library";
  // No library of this machine has this version, so the search cannot succeed elsewhere.
  const auto loaded = load_cublas((root_ / "broken").string(), 12000);
  if (loaded) GTEST_SKIP() << "this machine has a libcublas.so.12";
  EXPECT_EQ(loaded.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(loaded.error().message, HasSubstr(directory + "/libcublas.so.12"));
  EXPECT_THAT(loaded.error().message, Not(HasSubstr("\n")));
}

TEST_F(CudaLibraries, WhereThereIsNoneTheErrorSaysWhereItLookedAndWhatToDo) {
  const auto empty = make_directory("empty");
  const auto loaded = load_cublas(empty, 12000);
  if (loaded) GTEST_SKIP() << "this machine has a libcublas.so.12";
  EXPECT_EQ(loaded.error().kind, ErrorKind::unavailable);
  for (const char* part : {"libcublas.so.12", "BLASTOFF_CUDA_PATH", "pip install nvidia-cublas-cu12"}) {
    EXPECT_THAT(loaded.error().message, HasSubstr(part));
  }
  EXPECT_THAT(loaded.error().message, HasSubstr(empty));
  EXPECT_THAT(loaded.error().message, Not(HasSubstr("libcublas.so.13"))) << "a driver for CUDA 12 cannot run it";
}

TEST_F(CudaLibraries, CublasHasEveryFunctionThatIsUsed) {
  const auto loaded = load_cublas("", 13000);
  if (!loaded && loaded.error().message.find("not found") != std::string::npos) GTEST_SKIP() << loaded.error().message;
  ASSERT_TRUE(loaded) << loaded.error().message;
  int major = 0;
  EXPECT_EQ(loaded->cublasGetProperty(api::property_major, &major), api::blas_success);
  EXPECT_GE(major, 12);
  EXPECT_STREQ(loaded->cublasGetStatusName(api::blas_alloc_failed), "CUBLAS_STATUS_ALLOC_FAILED");
}

TEST_F(CudaLibraries, AnAbsentSolverLeavesItsOperationsToTheCpuAndSaysWhatToInstall) {
  const auto empty = make_directory("empty");
  static constexpr ExecutorKind kinds[] = {cusolver_kind};
  ExecutorLibraries libraries(kinds, {empty, 12000});
  const auto loaded = libraries.opened(0);
  if (loaded) GTEST_SKIP() << "this machine has a libcusolver.so.11";
  EXPECT_EQ(loaded.error().kind, ErrorKind::unsupported) << "the device works";
  for (const char* part : {"libcusolver.so.11", "BLASTOFF_CUDA_PATH", "pip install nvidia-cusolver-cu12"}) {
    EXPECT_THAT(loaded.error().message, HasSubstr(part));
  }
  EXPECT_THAT(loaded.error().message, Not(HasSubstr("libcusolver.so.12"))) << "a driver for CUDA 12 cannot run it";
  EXPECT_THAT(loaded.error().message, Not(HasSubstr("\n")));
}

TEST_F(CudaLibraries, AbsentTransformsAreLeftToTheCpu) {
  const auto empty = make_directory("empty");
  static constexpr ExecutorKind kinds[] = {cufft_kind};
  ExecutorLibraries libraries(kinds, {empty, 12000});
  const auto loaded = libraries.opened(0);
  if (loaded) GTEST_SKIP() << "this machine has a libcufft.so.11";
  EXPECT_EQ(loaded.error().kind, ErrorKind::unsupported) << "the device works";
  for (const char* part : {"libcufft.so.11", "pip install nvidia-cufft-cu12"})
    EXPECT_THAT(loaded.error().message, HasSubstr(part));
  EXPECT_THAT(loaded.error().message, Not(HasSubstr("libcufft.so.12"))) << "a driver for CUDA 12 cannot run it";
}

TEST_F(CudaLibraries, TheWheelsOfOtherLibrariesAreLookedForToo) {
  for (const char* wheel : {"cusolver", "cufft"}) {
    const auto directory = make_directory(std::string(".local/lib/python3.11/site-packages/nvidia/") + wheel + "/lib");
    EXPECT_THAT(default_directories(), Contains(directory));
  }
}

}  // namespace
}  // namespace blastoff::device::gpu::cuda
