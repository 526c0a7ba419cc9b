#include "platform/pages_of_file.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdio>
#include <vector>

namespace blastoff::platform {
namespace {

/// Three pages of a file, mapped privately.
class PagesOfFileTest : public testing::Test {
 protected:
  PagesOfFileTest() {
    std::FILE* const file = std::tmpfile();
    const std::vector<char> content(3 * page_size(), 'a');
    EXPECT_EQ(std::fwrite(content.data(), 1, content.size(), file), content.size());
    EXPECT_EQ(std::fflush(file), 0);
    memory_ = static_cast<char*>(mmap(nullptr, 3 * page_size(), PROT_READ, MAP_PRIVATE, fileno(file), 0));
    EXPECT_NE(memory_, MAP_FAILED);
    std::fclose(file);
    number_ = Mappings().covering(span().begin)->file;
  }
  ~PagesOfFileTest() override { munmap(memory_, 3 * page_size()); }

  Span page(std::size_t index) const {
    return {span().begin + index * page_size(), span().begin + (index + 1) * page_size()};
  }
  Span span() const {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_);
    return {begin, begin + 3 * page_size()};
  }

  char* memory_ = nullptr;
  FileNumber number_;
};

TEST_F(PagesOfFileTest, AreThoseThatTheProcessHasNotWritten) {
  EXPECT_TRUE(PagesOfFile(span(), number_).hold(span())) << "no page is present";
  EXPECT_EQ(memory_[0], 'a');
  EXPECT_TRUE(PagesOfFile(span(), number_).hold(span()));
  ASSERT_EQ(mprotect(memory_, span().bytes(), PROT_READ | PROT_WRITE), 0);
  memory_[page_size()] = 'b';
  ASSERT_EQ(mprotect(memory_, span().bytes(), PROT_READ), 0);
  const PagesOfFile pages(span(), number_);
  EXPECT_TRUE(pages.hold(page(0)));
  EXPECT_FALSE(pages.hold(page(1)));
  EXPECT_TRUE(pages.hold({page(2).begin + 8, page(2).begin + 16}));
  EXPECT_FALSE(pages.hold({page(0).end - 1, page(1).begin + 1}));
}

TEST_F(PagesOfFileTest, AreNotKnownOfOtherMemory) {
  ASSERT_EQ(mprotect(memory_ + page_size(), page_size(), PROT_NONE), 0);
  EXPECT_TRUE(PagesOfFile(page(0), number_).hold(page(0)));
  EXPECT_FALSE(PagesOfFile(span(), number_).hold(page(0))) << "the span is not one mapping";
  FileNumber other = number_;
  ++other.inode;
  EXPECT_FALSE(PagesOfFile(span(), other).hold(page(0)));
  EXPECT_FALSE(PagesOfFile(page(0), number_).hold(page(1)));
  EXPECT_FALSE(PagesOfFile({}, number_).hold(page(0)));
  const std::vector<char> anonymous(3 * page_size());
  const auto begin = reinterpret_cast<std::uintptr_t>(anonymous.data());
  EXPECT_FALSE(PagesOfFile({begin, begin + page_size()}, {}).hold({begin, begin + 1}));
}

}  // namespace
}  // namespace blastoff::platform
