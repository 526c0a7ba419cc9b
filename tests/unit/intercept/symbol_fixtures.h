// The files of symbol_fixtures.cmake, and changed copies of them.
#pragma once

#include <elf.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

struct Section {
  std::uint32_t type;
  std::uint32_t link;
  std::string content;
};

/// A shared object that has nothing but sections: the first is number 1, and the last has their names.
inline std::vector<char> elf_file(const std::vector<Section>& sections) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shoff = sizeof header;
  header.e_shnum = static_cast<Elf64_Half>(sections.size() + 1);
  header.e_shstrndx = static_cast<Elf64_Half>(sections.size());
  std::vector<Elf64_Shdr> headers(1);
  std::string contents;
  for (const Section& section : sections) {
    Elf64_Shdr& listed = headers.emplace_back();
    listed.sh_type = section.type;
    listed.sh_link = section.link;
    listed.sh_offset = sizeof header + header.e_shnum * sizeof listed + contents.size();
    listed.sh_size = section.content.size();
    contents += section.content;
  }
  std::vector<char> file(sizeof header + headers.size() * sizeof(Elf64_Shdr));
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + sizeof header, headers.data(), headers.size() * sizeof(Elf64_Shdr));
  file.insert(file.end(), contents.begin(), contents.end());
  return file;
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
