// Streams and events of the fake GPU: each stream is a thread, so that work really runs later and beside the caller.
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
  ~Stream();  ///< runs what is queued first
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

/// As CUDA has it: waiting concerns the last record() before the wait, whatever is recorded later.
class Event {
 public:
  /// The number of this record; reach() it from the stream.
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
