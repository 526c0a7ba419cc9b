// Memory in huge pages.
#pragma once

#include <cstddef>

namespace blastoff::platform {

constexpr std::size_t huge_page = std::size_t{2} << 20;

/// Private memory for Blastoff that already has its pages, huge ones if the system gives them; a forked child does not
/// get it. `bytes` and the address are multiples of huge_page. nullptr if there is no memory.
void* map_huge_pages(std::size_t bytes);
void unmap_huge_pages(void* address, std::size_t bytes);

/// Private memory without pages, as malloc gets it for large blocks under `blastoff run`: huge pages come with its
/// first use. nullptr if there is no memory. To be given back by unmap_huge_pages().
void* map_for_huge_pages(std::size_t bytes);

}  // namespace blastoff::platform
