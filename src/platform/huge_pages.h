// Memory in huge pages.
#pragma once

#include <cstddef>

namespace blastoff::platform {

constexpr std::size_t huge_page = std::size_t{2} << 20;

/// Blastoff's own: private memory that has its pages already, huge ones where the system gives them, and that a forked
/// child does not get. `bytes` is a multiple of huge_page, as is the address. nullptr: there is no memory.
void* map_huge_pages(std::size_t bytes);
void unmap_huge_pages(void* address, std::size_t bytes);

/// Private memory without pages, as malloc gets it for large blocks under `blastoff run`: huge ones come with its first
/// use. nullptr: there is no memory. To be given back by unmap_huge_pages().
void* map_for_huge_pages(std::size_t bytes);

}  // namespace blastoff::platform
