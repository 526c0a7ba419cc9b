#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <string_view>

#include "entrance/entrance.h"

namespace {

/// The replacement for a function that older C libraries lack.
template <class Function>
Function* substitute(std::string_view name, Function*) {
  for (std::size_t i = 0; i < blastoff_later_function_count; ++i)
    if (name == blastoff_later_functions[i].name)
      return reinterpret_cast<Function*>(blastoff_later_functions[i].substitute);
  return nullptr;
}

TEST(LaterFunctions, TellTheThread) {
  EXPECT_EQ(substitute("gettid", &gettid)(), gettid());
}

TEST(LaterFunctions, TellAFile) {
  struct stat expected {};
  struct stat found {};
  ASSERT_EQ(stat("/proc/self/exe", &expected), 0);
  EXPECT_EQ(substitute("stat", &stat)("/proc/self/exe", &found), 0);
  EXPECT_EQ(found.st_ino, expected.st_ino);
  EXPECT_EQ(found.st_size, expected.st_size);
  EXPECT_EQ(substitute("lstat", &lstat)("/proc/self/exe", &found), 0);
  EXPECT_TRUE(S_ISLNK(found.st_mode));
  EXPECT_EQ(substitute("fstatat", &fstatat)(AT_FDCWD, "/proc/self/exe", &found, 0), 0);
  EXPECT_EQ(found.st_ino, expected.st_ino);
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(substitute("fstat", &fstat)(file, &found), 0);
  close(file);
  EXPECT_EQ(found.st_ino, expected.st_ino);
}

TEST(LaterFunctions, TellThatThereIsNoFile) {
  struct stat found {};
  EXPECT_EQ(substitute("stat", &stat)("/no/such/file", &found), -1);
  EXPECT_EQ(errno, ENOENT);
}

TEST(LaterFunctions, WaitUntilATimeOfTheMonotonicClock) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  auto* const wait = substitute("pthread_cond_clockwait", &pthread_cond_clockwait);
  timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += 20'000'000;
  if (until.tv_nsec >= 1'000'000'000) until = {until.tv_sec + 1, until.tv_nsec - 1'000'000'000};
  pthread_mutex_lock(&mutex);
  EXPECT_EQ(wait(&condition, &mutex, CLOCK_MONOTONIC, &until), ETIMEDOUT);
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  pthread_mutex_unlock(&mutex);
  EXPECT_GE(std::pair(now.tv_sec, now.tv_nsec), std::pair(until.tv_sec, until.tv_nsec - 1'000'000));
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
int a_function_of_this_program() {
  return 1;
}

TEST(LaterFunctions, FindTheUnwindInformationThatTheCLibraryFinds) {
  auto* const find = substitute("_dl_find_object", &_dl_find_object);
  for (void* const address : {reinterpret_cast<void*>(&a_function_of_this_program), reinterpret_cast<void*>(&qsort)}) {
    dl_find_object expected{};
    dl_find_object found{};
    ASSERT_EQ(_dl_find_object(address, &expected), 0);
    ASSERT_EQ(find(address, &found), 0);
    EXPECT_EQ(found.dlfo_eh_frame, expected.dlfo_eh_frame);
  }
  dl_find_object found{};
  int on_the_stack = 0;
  EXPECT_EQ(find(&on_the_stack, &found), -1);
}
#endif

}  // namespace
