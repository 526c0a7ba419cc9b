#include "platform/scratch_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>

#include "platform/failure.h"

namespace blastoff::platform {
namespace {

std::string directory() {
  const char* const named = secure_getenv("TMPDIR");
  return named != nullptr && *named != '\0' ? named : "/var/tmp";
}

/// File systems without O_TMPFILE get a file that loses its name at once.
Descriptor open_nameless(const std::string& folder) {
  Descriptor file(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
  std::string name = folder + "/blastoff-XXXXXX";
  file = Descriptor(mkostemp(name.data(), O_CLOEXEC));
  if (file) unlink(name.c_str());
  return file;
}

/// Calls move(offset, remaining) until all bytes are moved; it returns how many it has moved. Returns an error number;
/// 0: done.
template <class Move>
int move_all(Span where, const Move& move) {
  for (std::size_t done = 0; done < where.bytes();) {
    const ssize_t moved = move(done, where.bytes() - done);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return moved < 0 ? errno : EIO;
    done += static_cast<std::size_t>(moved);
  }
  return 0;
}

}  // namespace

std::string ScratchFile::open_file() {
  const std::lock_guard lock(mutex_);
  if (file_.get() >= 0) return "";
  const std::string folder = directory();
  Descriptor file = open_nameless(folder);
  if (!file) return failure(folder + ":", errno);
  file_ = GuardedDescriptor(out_of_the_way(std::move(file)));
  return "";
}

Span ScratchFile::take_room(std::size_t size) {
  const std::lock_guard lock(mutex_);
  std::optional<Span> room;
  free_.all_of([&](Span span) {
    if (span.bytes() >= size) room = Span{span.begin, span.begin + size};
    return !room;
  });
  if (room) {
    free_.remove(*room);
    return *room;
  }
  end_ += size;
  return {end_ - size, end_};
}

int ScratchFile::descriptor() {
  const std::lock_guard lock(mutex_);
  return file_.get();
}

std::string ScratchFile::write(const void* bytes, std::size_t size, Span& where) {
  if (std::string why = open_file(); !why.empty()) return why;
  const Span room = take_room(size);
  const int file = descriptor();
  const int error = move_all(room, [&](std::size_t done, std::size_t remaining) {
    return pwrite(file, static_cast<const char*>(bytes) + done, remaining, static_cast<off_t>(room.begin + done));
  });
  if (error != 0) {
    drop(room);
    return failure(directory() + ":", error);
  }
  where = room;
  return "";
}

std::string ScratchFile::read(Span where, void* bytes) {
  const int file = descriptor();
  const int error = move_all(where, [&](std::size_t done, std::size_t remaining) {
    return pread(file, static_cast<char*>(bytes) + done, remaining, static_cast<off_t>(where.begin + done));
  });
  return error == 0 ? "" : failure(directory() + ":", error);
}

void ScratchFile::drop(Span where) {
  const std::lock_guard lock(mutex_);
  // Where the file system cannot do that, the room is kept for later bytes.
  (void)fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(where.begin),
                  static_cast<off_t>(where.bytes()));
  free_.add(where);
}

}  // namespace blastoff::platform
