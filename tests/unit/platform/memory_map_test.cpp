#include "platform/memory_map.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>

#include "child.h"
#include "mapped_memory.h"
#include "platform/mappings.h"
#include "tracking/dma_writer.h"
#include "tracking/page_tracker.h"
#include "tracking/process_status.h"

namespace blastoff::platform {
namespace {

using test::Memory;

int initialised_data[1024] = {1};
char zeroed_data[1 << 16];
const int constant_data[1024] = {1};

Span span_of(const void* address, std::size_t bytes = 1) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  return {begin, begin + bytes};
}

MemoryKind kind_of(const void* address, std::size_t bytes = 1) {
  return find_mapping(span_of(address, bytes)).kind;
}

/// Pages between two pages without write permission, so that no other mapping merges with them.
class Island {
 public:
  explicit Island(std::size_t pages) : memory_(pages + 2), pages_(pages) {
    mprotect(memory_.page(0), page_size(), PROT_NONE);
    mprotect(memory_.page(pages + 1), page_size(), PROT_NONE);
  }
  char* page(std::size_t index) const { return memory_.page(index + 1); }
  Span pages(std::size_t first, std::size_t count) const { return memory_.pages(first + 1, count); }
  Span span() const { return pages(0, pages_); }

 private:
  Memory memory_;
  std::size_t pages_;
};

TEST(MemoryMap, PrivateAnonymousMemory) {
  const std::unique_ptr<void, decltype(&std::free)> small(std::calloc(1, 100), std::free);
  const std::unique_ptr<void, decltype(&std::free)> large(std::calloc(1, 10 << 20), std::free);
  EXPECT_EQ(kind_of(small.get(), 100), MemoryKind::anonymous);
  EXPECT_EQ(kind_of(large.get(), 10 << 20), MemoryKind::anonymous);
  EXPECT_EQ(kind_of(zeroed_data + (1 << 15)), MemoryKind::anonymous);
  std::thread([] {
    int local = 0;
    EXPECT_EQ(kind_of(&local), MemoryKind::anonymous);
  }).join();
}

TEST(MemoryMap, ExtentIsTheMappingAndAdjacentOnesOfTheSameKind) {
  const Island island(8);
  const Mapping mapping = find_mapping(island.pages(3, 1));
  EXPECT_EQ(mapping.kind, MemoryKind::anonymous);
  EXPECT_EQ(mapping.extent, island.span());

  mprotect(island.page(6), page_size(), PROT_READ);
  EXPECT_EQ(find_mapping(island.pages(3, 1)).extent, island.pages(0, 6));
  EXPECT_EQ(find_mapping(island.pages(7, 1)).extent, island.pages(7, 1));
  EXPECT_EQ(find_mapping(island.pages(6, 1)).kind, MemoryKind::other);  // not writable
  EXPECT_EQ(find_mapping(island.pages(3, 5)).kind, MemoryKind::other);
}

TEST(MemoryMap, TrackingDoesNotSplitAnExtent) {
  const Island island(8);
  auto tracker = tracking::open_page_tracker();
  if (!tracker) GTEST_SKIP() << tracker.error();
  ASSERT_TRUE((*tracker)->track(island.pages(2, 3)));
  EXPECT_EQ(find_mapping(island.pages(3, 1)).extent, island.span());
  EXPECT_EQ(find_mapping(island.pages(0, 8)).extent, island.span());
  EXPECT_EQ(find_mapping(island.pages(0, 8)).kind, MemoryKind::anonymous);
}

TEST(MemoryMap, TheMainThreadsStackIsKnownAlsoWhenSplit) {
  // gtest runs tests on the main thread.
  char local[3 * 4096] = {};
  EXPECT_EQ(kind_of(local, sizeof local), MemoryKind::stack);

  // A part with other flags splits the mapping, and only the topmost part keeps its name. This runs in a child, as the
  // mapping stays split.
  const pid_t child = fork();
  if (child == 0) {
    const Span page = outward_to_pages(span_of(local, 1));
    const bool split = madvise(reinterpret_cast<void*>(page.begin), page.bytes(), MADV_NOHUGEPAGE) == 0 &&
                       Mappings().covering(page.begin)->kind == MemoryKind::anonymous;
    const bool known = kind_of(local) == MemoryKind::stack && kind_of(local, sizeof local) == MemoryKind::stack &&
                       kind_of(reinterpret_cast<void*>(page.begin - 1)) == MemoryKind::stack;
    _exit(split && known ? 0 : 1);
  }
  EXPECT_EQ(test::status_of(child), 0);
}

TEST(MemoryMap, SharedMemory) {
  void* shared = mmap(nullptr, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  EXPECT_EQ(kind_of(shared), MemoryKind::shared);
  munmap(shared, page_size());

  const int segment = shmget(IPC_PRIVATE, page_size(), 0600);
  if (segment < 0) GTEST_SKIP() << "no System V shared memory here";
  void* attached = shmat(segment, nullptr, 0);
  shmctl(segment, IPC_RMID, nullptr);
  EXPECT_EQ(kind_of(attached), MemoryKind::shared);
  shmdt(attached);
}

TEST(MemoryMap, FilesAndInitialisedData) {
  EXPECT_EQ(kind_of(initialised_data, sizeof initialised_data), MemoryKind::object_data);
  EXPECT_EQ(kind_of(constant_data, sizeof constant_data), MemoryKind::file);
  const int memory_file = memfd_create(std::string(200, 'n').c_str(), MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(memory_file, static_cast<off_t>(page_size())), 0);
  void* mapped = mmap(nullptr, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE, memory_file, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_EQ(kind_of(mapped), MemoryKind::file);
  munmap(mapped, page_size());
  close(memory_file);
}

TEST(MemoryMap, DataAndTheZeroedDataBehindItAreOnePiece) {
  const auto begin = reinterpret_cast<std::uintptr_t>(initialised_data) / page_size() * page_size();
  const auto end = reinterpret_cast<std::uintptr_t>(zeroed_data + sizeof zeroed_data);
  if (end < begin) GTEST_SKIP() << "the linker puts them elsewhere";
  const Mapping both = find_mapping({begin, end});
  EXPECT_EQ(both.kind, MemoryKind::object_data);
  EXPECT_GE(both.extent.end, end);
}

TEST(MemoryMap, ACopyOfALibraryWithoutItsCodeIsAFile) {
  const int program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  void* mapped = mmap(nullptr, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE, program, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_EQ(kind_of(mapped), MemoryKind::file);
  munmap(mapped, page_size());
  close(program);
}

TEST(MemoryMap, HugeTlbMemory) {
  constexpr std::size_t huge = std::size_t{2} << 20;
  void* mapped = mmap(nullptr, huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
  if (mapped == MAP_FAILED) GTEST_SKIP() << "no huge pages are set aside here";
  EXPECT_EQ(kind_of(mapped), MemoryKind::huge_tlb);
  munmap(mapped, huge);
}

TEST(MemoryMap, HolesAndUnmappedMemoryAreNotSafe) {
  const Memory memory(8);
  ASSERT_EQ(munmap(memory.page(3), page_size()), 0);
  EXPECT_EQ(find_mapping(memory.span()).kind, MemoryKind::other);
  EXPECT_EQ(find_mapping(memory.pages(3, 1)).kind, MemoryKind::other);
  EXPECT_EQ(find_mapping(memory.pages(2, 2)).kind, MemoryKind::other);
  EXPECT_EQ(find_mapping({0, 1}).kind, MemoryKind::other);
}

TEST(MemoryMap, ASpanOfSeveralKindsIsTheMostSuspect) {
  const Memory memory(4);
  ASSERT_NE(mmap(memory.page(1), page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
            MAP_FAILED);
  EXPECT_EQ(find_mapping(memory.span()).kind, MemoryKind::shared);
  EXPECT_EQ(find_mapping(memory.pages(2, 2)).kind, MemoryKind::anonymous);
}

TEST(Mappings, TextAndQuestionsAgree) {
  const Memory memory(4);
  int local = 0;
  const void* places[] = {memory.page(1),
                          &local,
                          initialised_data,
                          constant_data,
                          zeroed_data + (1 << 15),
                          reinterpret_cast<const void*>(&std::malloc),
                          nullptr};
  Mappings asked;
  Mappings read{Mappings::FromText{}};
  for (const void* place : places) {
    const auto address = reinterpret_cast<std::uintptr_t>(place);
    const auto one = asked.covering(address);
    const auto other = read.covering(address);
    ASSERT_EQ(one.has_value(), other.has_value()) << place;
    if (!one) continue;
    EXPECT_EQ(one->span, other->span) << place;
    EXPECT_EQ(one->kind, other->kind) << place;
    EXPECT_EQ(one->writable, other->writable) << place;
    EXPECT_EQ(one->file, other->file) << place;
    EXPECT_EQ(asked.describe(address)->kind, read.describe(address)->kind) << place;
  }
}

TEST(Mappings, ParsesLines) {
  const auto kind = [](const char* line) { return parse_mapping(line)->kind; };
  const auto heap = parse_mapping("00400000-00452000 rw-p 00000000 00:00 0                  [heap]");
  ASSERT_TRUE(heap);
  EXPECT_EQ(heap->span, (Span{0x400000, 0x452000}));
  EXPECT_TRUE(heap->readable && heap->writable && !heap->executable);
  EXPECT_EQ(heap->kind, MemoryKind::anonymous);
  EXPECT_EQ(kind("7f00-8000 rw-p 00000000 00:00 0"), MemoryKind::anonymous);
  EXPECT_EQ(kind("7f00-8000 rw-p 00000000 00:00 0 [anon: glibc: malloc]"), MemoryKind::anonymous);
  EXPECT_EQ(kind("7f00-8000 r--p 00000000 00:00 0"), MemoryKind::other);
  EXPECT_EQ(kind("7f00-8000 ---p 00000000 00:00 0"), MemoryKind::other);
  EXPECT_EQ(kind("7f00-8000 rw-p 00000000 00:00 0 [stack]"), MemoryKind::stack);
  EXPECT_EQ(kind("7f00-8000 r-xp 00000000 00:00 0 [vdso]"), MemoryKind::other);
  EXPECT_EQ(kind("7f00-8000 rw-p 00000000 00:00 0 [uprobes]"), MemoryKind::other);
  EXPECT_EQ(kind("7f00-8000 rw-s 00000000 00:01 1024 /dev/zero (deleted)"), MemoryKind::shared);
  EXPECT_EQ(kind("7f00-8000 rw-p 00003000 fe:01 77 /usr/lib/a b.so"), MemoryKind::file);
  EXPECT_EQ(kind("7f00-8000 rw-p 00000000 00:0f 9 /anon_hugepage (deleted)"), MemoryKind::huge_tlb);
  EXPECT_FALSE(parse_mapping(""));
  EXPECT_FALSE(parse_mapping("not a mapping"));
}

/// A library under a name like that of a network card's library.
class LoadedAs {
 public:
  explicit LoadedAs(const char* name) {
    Dl_info info{};
    dladdr(reinterpret_cast<const void*>(&std::malloc), &info);
    path_ = ::testing::TempDir() + std::to_string(getpid()) + "-" + name;
    std::filesystem::create_directories(path_);
    path_ += std::string("/") + name + ".so.1";
    std::filesystem::copy_file(std::filesystem::path(info.dli_fname).replace_filename("libm.so.6"), path_,
                               std::filesystem::copy_options::overwrite_existing);
    handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  ~LoadedAs() {
    if (handle_ != nullptr) dlclose(handle_);
    std::filesystem::remove_all(std::filesystem::path(path_).parent_path());
  }
  LoadedAs(const LoadedAs&) = delete;
  LoadedAs& operator=(const LoadedAs&) = delete;
  bool loaded() const { return handle_ != nullptr; }

 private:
  std::string path_;
  void* handle_ = nullptr;
};

/// Memory that is pinned and counted in VmPin like a network card's, but through io_uring, which needs no card.
class PinnedPage {
 public:
  PinnedPage() : page_(1) {
    alignas(8) unsigned char parameters[120] = {};  // struct io_uring_params
    ring_ = static_cast<int>(syscall(SYS_io_uring_setup, 1, parameters));
    const iovec buffer = {page_.page(0), page_size()};
    pinned_ = ring_ >= 0 && syscall(SYS_io_uring_register, ring_, 0 /* IORING_REGISTER_BUFFERS */, &buffer, 1) == 0;
  }
  ~PinnedPage() {
    // If the descriptor is only closed, the memory is unpinned some time later.
    if (pinned_) syscall(SYS_io_uring_register, ring_, 1 /* IORING_UNREGISTER_BUFFERS */, nullptr, 0);
    if (ring_ >= 0) close(ring_);
  }
  PinnedPage(const PinnedPage&) = delete;
  PinnedPage& operator=(const PinnedPage&) = delete;
  bool pinned() const { return pinned_; }

 private:
  Memory page_;
  int ring_ = -1;
  bool pinned_ = false;
};

std::optional<std::string> dma_writer(std::size_t own_pins = 0) {
  return tracking::dma_writer(tracking::pinned_kilobytes() > own_pins);
}

TEST(ForeignWriter, NobodyWhereNothingIsPinned) {
  EXPECT_EQ(dma_writer(), std::nullopt);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) dma_writer();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("foreign_writer: %.3f us\n", seconds * 1e3);
}

TEST(ForeignWriter, PinnedMemoryWithoutAnyLibrary) {
  const std::size_t before = tracking::pinned_kilobytes();
  {
    const PinnedPage page;
    if (!page.pinned()) GTEST_SKIP() << "no io_uring here to pin a page with";
    const auto writer = dma_writer(before);
    ASSERT_TRUE(writer);
    EXPECT_NE(writer->find("VmPin"), std::string::npos);
    EXPECT_EQ(tracking::pinned_kilobytes(), before + page_size() / 1024);
  }
  EXPECT_EQ(dma_writer(before), std::nullopt);
}

TEST(ForeignWriter, ALibraryWithoutItsDevice) {
  const LoadedAs library("libxpmem");
  ASSERT_TRUE(library.loaded());
  if (access("/dev/xpmem", F_OK) != 0)
    EXPECT_EQ(dma_writer(tracking::pinned_kilobytes()), std::nullopt);
  else
    EXPECT_TRUE(dma_writer(tracking::pinned_kilobytes()));
}

TEST(MemoryMap, SaysWhetherAllOfItMayBeWritten) {
  const std::size_t page = page_size();
  void* memory = mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const Span all = span_of(memory, 3 * page);
  EXPECT_EQ(writable(all, true), true);
  ASSERT_EQ(mprotect(static_cast<char*>(memory) + page, page, PROT_READ), 0);
  EXPECT_EQ(writable(all, true), false);
  EXPECT_EQ(writable({all.begin, all.begin + page}, true), true);
  ASSERT_EQ(mprotect(memory, 3 * page, PROT_READ | PROT_WRITE), 0);
  EXPECT_EQ(writable(all, true), true);
  munmap(memory, 3 * page);
  EXPECT_EQ(writable(all, true), false);
}

}  // namespace
}  // namespace blastoff::platform
