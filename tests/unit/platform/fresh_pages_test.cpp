#include "platform/fresh_pages.h"

#include <sys/mman.h>

#include <cstdint>

#include <gtest/gtest.h>

namespace {

using blastoff::platform::Span;

TEST(FreshPages, AreThereOnceTheyAreGivenOrTouched) {
  constexpr std::size_t bytes = std::size_t{1} << 20;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const Span half{begin, begin + bytes / 2};
  const Span whole{begin, begin + bytes};
  EXPECT_FALSE(blastoff::platform::has_pages(half));
  blastoff::platform::give_pages(half);
  EXPECT_TRUE(blastoff::platform::has_pages(half));
  EXPECT_FALSE(blastoff::platform::has_pages(whole));
  for (std::size_t at = 0; at < bytes; at += 4096) static_cast<char*>(memory)[at] = 1;
  EXPECT_TRUE(blastoff::platform::has_pages(whole));
  munmap(memory, bytes);
}

TEST(FreshPages, WhatMayNotBeWrittenStaysAsItIs) {
  constexpr std::size_t bytes = std::size_t{1} << 16;
  void* const memory = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  blastoff::platform::give_pages({begin, begin + bytes});
  EXPECT_FALSE(blastoff::platform::has_pages({begin, begin + bytes}));
  munmap(memory, bytes);
}

}  // namespace
