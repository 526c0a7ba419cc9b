// A lock for one thread that must not be kept waiting, and others that may work at the same time.
#pragma once

#include <pthread.h>

namespace blastoff::platform {

/// The exclusive holder waits only for those who hold the lock by then: new ones wait for it.
class EventLock {
 public:
  EventLock() {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock_, &attributes);
    pthread_rwlockattr_destroy(&attributes);
  }
  ~EventLock() { pthread_rwlock_destroy(&lock_); }
  EventLock(const EventLock&) = delete;
  EventLock& operator=(const EventLock&) = delete;

  void lock() { pthread_rwlock_wrlock(&lock_); }
  void unlock() { pthread_rwlock_unlock(&lock_); }
  void lock_shared() { pthread_rwlock_rdlock(&lock_); }
  void unlock_shared() { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_;
};

}  // namespace blastoff::platform
