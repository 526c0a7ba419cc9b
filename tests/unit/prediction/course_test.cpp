// When calls take another time than in the trace, later calls are shifted.
#include "prediction/course.h"

#include <gtest/gtest.h>

namespace blastoff::prediction {
namespace {

TracedCall call(int thread, double start, double elapsed) {
  TracedCall result;
  result.thread = thread;
  result.start = start;
  result.elapsed = elapsed;
  return result;
}

/// Makes a call that takes `seconds`; returns the time at which it begins.
double make(Course& course, const TracedCall& traced, double seconds) {
  const double begin = course.begin_of(traced);
  course.finish(traced, traced.start + traced.elapsed, begin + seconds);
  return begin;
}

TEST(Course, WhatLiesBetweenCallsTakesAsLong) {
  Course course;
  EXPECT_DOUBLE_EQ(make(course, call(0, 1, 4), 1), 1);
  EXPECT_DOUBLE_EQ(make(course, call(0, 6, 2), 3), 3);  // a second after the first
  EXPECT_DOUBLE_EQ(course.end_of(10), 8);
}

TEST(Course, AThreadWaitsForTheCallThatEndedLast) {
  Course course;
  make(course, call(0, 0, 4), 1);
  make(course, call(1, 0, 5), 2);
  EXPECT_DOUBLE_EQ(course.begin_of(call(0, 6, 1)), 3) << "a second after thread 1";
}

TEST(Course, CallsOfOneThreadFollowEachOther) {
  Course course;
  make(course, call(0, 0, 1), 5);
  EXPECT_DOUBLE_EQ(course.begin_of(call(0, 1, 1)), 5);
  EXPECT_DOUBLE_EQ(course.begin_of(call(1, 0.5, 1)), 0.5) << "nothing had ended";
}

}  // namespace
}  // namespace blastoff::prediction
