// The files of symbol_fixtures.cmake, and changed copies of them.
#pragma once

#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace blastoff::test {

inline std::string symbol_fixture(const std::string& name) {
  return std::string(FIXTURES "/") + name;
}

inline std::vector<char> file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A file with given bytes, which exists as long as the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::vector<char>& bytes) {
    const int descriptor = mkstemp(name_);
    if (descriptor >= 0) close(descriptor);
    std::ofstream(name_, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::remove(name_); }

  const char* path() const { return name_; }

 private:
  char name_[32] = "/tmp/blastoff-symbols-XXXXXX";
};

}  // namespace blastoff::test
