// Inspection of a file and of the same file in memory; it also reads back every jump that is written.
#include "intercept/inspection.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "intercept/loaded_objects.h"
#include "intercept/patch/architecture.h"
#include "intercept/patch/jump_target.h"
#include "intercept/patch/patcher.h"
#include "platform/code_memory.h"
#include "platform/descriptor.h"

namespace blastoff::intercept {
namespace {

using patch::Architecture;
using testing::ElementsAre;
using testing::IsEmpty;

std::string fixture(const char* name) {
  return std::string(FIXTURES "/libfixture_") + name + ".so";
}

std::vector<std::string> names_of(const Inspection& inspection) {
  std::vector<std::string> names;
  for (const InspectedFunction& inspected : inspection.functions) names.push_back(inspected.function.names.front());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Inspection, OfALibraryThatDefinesBlas) {
  const auto inspection = inspect(fixture("blas_one").c_str());
  ASSERT_TRUE(inspection);
  EXPECT_TRUE(inspection->native);
  EXPECT_EQ(inspection->linkage, Linkage::shared_object);
  EXPECT_THAT(names_of(*inspection), ElementsAre("cblas_dgemm", "dgemm_"));
  for (const InspectedFunction& inspected : inspection->functions) {
    EXPECT_TRUE(inspected.bound_by_our_name);
    EXPECT_EQ(inspected.state, CodeState::not_looked_at);
    // cblas_dgemm calls dgemm_, which makes no calls.
    const bool calls = inspected.function.convention.style == abi::Style::cblas;
    EXPECT_EQ(inspected.obstacle, calls ? std::nullopt : std::optional(patch::Obstacle::leaf));
  }
  EXPECT_THAT(inspection->left_alone, IsEmpty());
}

TEST(Inspection, OfALibraryThatCallsBlas) {
  const auto inspection = inspect(fixture("caller_one").c_str());
  ASSERT_TRUE(inspection);
  EXPECT_THAT(names_of(*inspection), IsEmpty());
  std::vector<std::string> imported;
  for (const Import& import : inspection->imports) {
    EXPECT_TRUE(import.exported_by_us) << import.name;
    imported.push_back(import.name);
  }
  EXPECT_THAT(imported, ElementsAre("cblas_dgemm", "cgemm_64", "dgemm", "dgemm_", "zgemm"));
}

TEST(Inspection, SaysWhichRuleLeavesAFunctionAlone) {
  const auto inspection = inspect(fixture("foreign").c_str());
  ASSERT_TRUE(inspection);
  const auto has = [&](const char* name) {
    return std::any_of(inspection->left_alone.begin(), inspection->left_alone.end(),
                       [&](const LeftAlone& left) { return left.name == name && !left.rule.empty(); });
  };
  EXPECT_TRUE(has("dgemm"));
  EXPECT_TRUE(has("zgemm"));
}

TEST(Inspection, OfWhatIsNoProgram) {
  const auto inspection = inspect("/proc/self/status");
  ASSERT_FALSE(inspection);
  EXPECT_THAT(inspection.error(), testing::HasSubstr("/proc/self/status"));
}

TEST(Inspection, EveryObstacleIsExplained) {
  for (int obstacle = 0; obstacle <= static_cast<int>(patch::Obstacle::no_memory); ++obstacle)
    EXPECT_STRNE(patch::to_string(static_cast<patch::Obstacle>(obstacle)), "unknown") << obstacle;
  for (int obstacle = 0; obstacle <= static_cast<int>(patch::Obstacle::no_memory); ++obstacle)
    EXPECT_STRNE(explain(static_cast<patch::Obstacle>(obstacle)), "") << obstacle;
}

/// A library in this process, which is inspected as if it were in another process.
class Loaded {
 public:
  explicit Loaded(const char* name) : path_(fixture(name)), memory_(open("/proc/self/mem", O_RDONLY | O_CLOEXEC)) {
    handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    for (const LoadedObject& one : loaded_objects())
      if (one.path == path_) object_ = one;
  }

  CodeState state_of(const char* name) const {
    auto inspection = inspect(path_.c_str());
    compare_with_memory(*inspection, memory_.get(), object_.bias);
    for (const InspectedFunction& inspected : inspection->functions)
      if (inspected.function.names.front() == name) return inspected.state;
    return CodeState::not_looked_at;
  }

  void patch() const {
    const auto file = ObjectFile::open(path_.c_str());
    patch_object(object_, instance_of(object_.identity()), intercept::Loaded::before, *file,
                 find_blas_functions(*file, path_.c_str()), nullptr);
  }

  std::uintptr_t address_of(const char* name) const { return reinterpret_cast<std::uintptr_t>(dlsym(handle_, name)); }

 private:
  std::string path_;
  platform::Descriptor memory_;
  void* handle_ = nullptr;
  LoadedObject object_;
};

TEST(InMemory, APatchIsSeen) {
  const Loaded library("blas_two");
  EXPECT_EQ(library.state_of("cblas_dgemm"), CodeState::as_in_file);
  library.patch();
  EXPECT_EQ(library.state_of("cblas_dgemm"), CodeState::patched);
  EXPECT_EQ(library.state_of("dgemm_"), CodeState::as_in_file);
}

TEST(InMemory, ABreakpointIsNoPatch) {
  const Loaded library("blas_kept");
  const std::uintptr_t address = library.address_of("cblas_dgemm");
  const std::byte breakpoint[] = {std::byte{0xcc}};
  ASSERT_TRUE(platform::CodeWriter({address, address + 1}).write(address, breakpoint));
  EXPECT_EQ(library.state_of("cblas_dgemm"), CodeState::changed);
  EXPECT_EQ(library.state_of("dgemm_"), CodeState::as_in_file);
}

std::vector<std::byte> code_of(std::initializer_list<unsigned> values, std::size_t value_size) {
  std::vector<std::byte> code;
  for (const unsigned value : values)
    for (std::size_t i = 0; i < value_size; ++i) code.push_back(static_cast<std::byte>(value >> 8 * i));
  return code;
}

constexpr std::uint64_t entry = 0x7f0000001000;
constexpr std::uint64_t near_hook = entry + 0x100000;
constexpr std::uint64_t near_hook_below = entry - 0x100000;
constexpr std::uint64_t far_hook = 0x10000000;

void expect_jump(Architecture architecture, const std::vector<std::byte>& function) {
  EXPECT_EQ(jump_target(architecture, function, entry), std::nullopt);
  for (const std::uint64_t hook : {near_hook, near_hook_below, far_hook}) {
    const auto change = patch::relocator(architecture).patch({function, 0, entry}, hook, hook + 64);
    if (!change) {
      ADD_FAILURE() << patch::to_string(change.error());
      continue;
    }
    std::vector<std::byte> patched = function;
    std::copy(change->jump.begin(), change->jump.end(), patched.begin() + static_cast<std::ptrdiff_t>(change->offset));
    EXPECT_EQ(jump_target(architecture, patched, entry), hook);
  }
}

TEST(JumpTarget, ReadsX86_64) {
  // push rbp; mov rbp, rsp; sub rsp, 16; mov [rbp - 8], rdi; mov rax, [rbp - 8]; call +0x1000; leave; ret
  const auto plain = code_of({0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0x7d, 0xf8,
                              0x48, 0x8b, 0x45, 0xf8, 0xe8, 0x00, 0x10, 0x00, 0x00, 0xc9, 0xc3},
                             1);
  expect_jump(Architecture::x86_64, plain);
  auto guarded = code_of({0xf3, 0x0f, 0x1e, 0xfa}, 1);
  guarded.insert(guarded.end(), plain.begin(), plain.end());
  expect_jump(Architecture::x86_64, guarded);
}

TEST(JumpTarget, ReadsAarch64) {
  // stp x29, x30, [sp, #-16]!; mov x29, sp; mov x2, x0; mov x3, x1; bl +0x1000; ldp x29, x30, [sp], #16; ret
  const auto plain = code_of({0xa9bf7bfd, 0x910003fd, 0xaa0003e2, 0xaa0103e3, 0x94000400, 0xa8c17bfd, 0xd65f03c0}, 4);
  expect_jump(Architecture::aarch64, plain);
  for (const unsigned landing_pad : {0xd503245fU, 0xd503233fU}) {  // bti c; paciasp
    auto guarded = code_of({landing_pad}, 4);
    guarded.insert(guarded.end(), plain.begin(), plain.end());
    expect_jump(Architecture::aarch64, guarded);
  }
}

}  // namespace
}  // namespace blastoff::intercept
