// Kernel structures that are newer than the headers of the oldest distribution on which Blastoff is built (Linux 6.1):
// userfaultfd's asynchronous write protection and PAGEMAP_SCAN (6.7), and PROCMAP_QUERY (6.11). Also
// MADV_POPULATE_WRITE (5.14), which other headers lack. Layouts from include/uapi/linux/{userfaultfd,fs}.h.
#pragma once

#include <linux/ioctl.h>

#include <cstdint>

namespace blastoff::platform::kernel {

inline constexpr std::uint64_t uffd_feature_wp_unpopulated = 1u << 13;
inline constexpr std::uint64_t uffd_feature_wp_async = 1u << 15;

inline constexpr int populate_write = 23;  ///< for madvise

inline constexpr int uffd_user_mode_only = 1;
inline constexpr unsigned long uffd_ioc_new =
    _IO(0xAA, 0x00);  ///< on /dev/userfaultfd: a descriptor like the system call's

struct PageRegion {
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t categories;
};

struct PagemapScan {
  std::uint64_t size;
  std::uint64_t flags;
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t walk_end;
  std::uint64_t vec;
  std::uint64_t vec_len;
  std::uint64_t max_pages;
  std::uint64_t category_inverted;
  std::uint64_t category_mask;
  std::uint64_t category_anyof_mask;
  std::uint64_t return_mask;
};

inline constexpr unsigned long pagemap_scan = _IOWR('f', 16, PagemapScan);
inline constexpr std::uint64_t scan_protect_matching = 1u << 0;
inline constexpr std::uint64_t scan_fail_unless_tracked = 1u
                                                          << 1;  ///< EPERM at a mapping without asynchronous protection
inline constexpr std::uint64_t page_is_written = 1u << 1;
inline constexpr std::uint64_t page_is_present = 1u << 3;
inline constexpr std::uint64_t page_is_swapped = 1u << 4;

struct ProcmapQuery {
  std::uint64_t size;
  std::uint64_t query_flags;
  std::uint64_t query_addr;
  std::uint64_t vma_start;
  std::uint64_t vma_end;
  std::uint64_t vma_flags;
  std::uint64_t vma_page_size;
  std::uint64_t vma_offset;
  std::uint64_t inode;
  std::uint32_t dev_major;
  std::uint32_t dev_minor;
  std::uint32_t vma_name_size;
  std::uint32_t build_id_size;
  std::uint64_t vma_name_addr;
  std::uint64_t build_id_addr;
};

inline constexpr unsigned long procmap_query = _IOWR('f', 17, ProcmapQuery);
inline constexpr std::uint64_t vma_readable = 1u << 0;
inline constexpr std::uint64_t vma_writable = 1u << 1;
inline constexpr std::uint64_t vma_executable = 1u << 2;
inline constexpr std::uint64_t vma_shared = 1u << 3;

}  // namespace blastoff::platform::kernel
