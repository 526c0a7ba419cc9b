// Streams and events of the fake GPU: each stream is a thread, so that work really runs later and concurrently with the
// caller.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace blastoff::fake_cuda {

class Stream {
 public:
  Stream();
  ~Stream();  ///< first runs the queued work
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void post(std::function<void()> task);
  void synchronize();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool busy_ = false;
  bool ending_ = false;
  std::thread thread_;
};

/// As in CUDA, a wait concerns the last record() before it, whatever is recorded later.
class Event {
 public:
  /// Returns the number of this record, for a reach() from the stream.
  std::uint64_t record();
  std::uint64_t last_record();
  void reach(std::uint64_t record);
  void wait_for(std::uint64_t record);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t recorded_ = 0;
  std::uint64_t reached_ = 0;
};

}  // namespace blastoff::fake_cuda
