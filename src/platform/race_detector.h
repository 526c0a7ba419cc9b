// For programs that are built with ThreadSanitizer.
//
// Its runtime sees memory that Blastoff allocates, copies and locks by the C library's functions. It does not see how
// Blastoff's threads synchronize, because this library is not built with it. So it would report races that do not
// exist.
#pragma once

#ifndef __SANITIZE_THREAD__
extern "C" {
// Functions of that runtime, if it is in the process.
[[gnu::weak]] void AnnotateIgnoreWritesBegin(const char* file, int line);
[[gnu::weak]] void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace blastoff::platform {

/// From here on, the detector ignores what this thread reads and writes. Begin and end may be nested.
inline void begin_unobserved() {
#ifndef __SANITIZE_THREAD__
  if (AnnotateIgnoreWritesBegin != nullptr) AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
}

inline void end_unobserved() {
#ifndef __SANITIZE_THREAD__
  if (AnnotateIgnoreWritesEnd != nullptr) AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
#endif
}

}  // namespace blastoff::platform
