#include "allocator/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <string.h>

#include "allocator/early.h"
#include "platform/errno_guard.h"

// Only glibc has these.
#pragma weak dladdr1
#pragma weak gnu_get_libc_version

namespace blastoff::allocator {

constinit Next next = {
    {early::malloc},        {early::free},           {early::calloc}, {early::realloc}, {early::memalign},
    {early::aligned_alloc}, {early::posix_memalign}, {early::valloc}, {early::pvalloc}, {early::usable_size},
    {early::mmap},          {early::munmap},         {early::mremap}, {early::madvise}, {early::brk},
    {early::sbrk},
};
constinit Release release = {{early::free}, {early::realloc}};

namespace {

enum class Search : unsigned char { not_begun, going_on, done };
constinit std::atomic<Search> search{Search::not_begun};

template <class Function>
void look_up(Slot<Function>& slot, const char* name) {
  slot.store(reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name)), std::memory_order_relaxed);
}

/// Returns the file name of the object that holds an address; "" if no object holds it.
const char* object_of(const void* address) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "";
  const char* const slash = strrchr(info.dli_fname, '/');
  return slash == nullptr ? info.dli_fname : slash + 1;
}

bool same_object(const void* one, const void* other) {
  Dl_info first;
  Dl_info second;
  return dladdr(one, &first) != 0 && dladdr(other, &second) != 0 && first.dli_fbase == second.dli_fbase;
}

/// Whether `function` is only a stub in the program. A program that is not position-independent and takes the address
/// of malloc has such a stub, and dlsym() returns it as the function.
bool is_only_called_there(const void* function) {
  Dl_info info;
  void* symbol = nullptr;
  if (dladdr1(function, &info, &symbol, RTLD_DL_SYMENT) == 0 || symbol == nullptr) return false;
  return static_cast<const ElfW(Sym)*>(symbol)->st_shndx == SHN_UNDEF;
}

template <class Function>
const void* address_of(Function* function) {
  return reinterpret_cast<const void*>(function);
}

}  // namespace

/// dlsym() allocates nothing if the name exists, and the C library has all of these.
bool find_next() {
  if (search.load(std::memory_order_acquire) == Search::done) return true;
  Search expected = Search::not_begun;
  if (!search.compare_exchange_strong(expected, Search::going_on)) return expected == Search::done;
  const platform::ErrnoGuard errno_stays;
  look_up(next.malloc, "malloc");
  look_up(next.free, "free");
  look_up(next.calloc, "calloc");
  look_up(next.realloc, "realloc");
  look_up(next.memalign, "memalign");
  look_up(next.aligned_alloc, "aligned_alloc");
  look_up(next.posix_memalign, "posix_memalign");
  look_up(next.valloc, "valloc");
  look_up(next.pvalloc, "pvalloc");
  look_up(next.usable_size, "malloc_usable_size");
  look_up(next.mmap, "mmap");
  look_up(next.munmap, "munmap");
  look_up(next.mremap, "mremap");
  look_up(next.madvise, "madvise");
  look_up(next.brk, "brk");
  look_up(next.sbrk, "sbrk");
  search.store(Search::done, std::memory_order_release);
  return true;
}

bool behind_is_glibc() {
  return &gnu_get_libc_version != nullptr && &dladdr1 != nullptr;
}

bool comes_first() {
  const void* const first = dlsym(RTLD_DEFAULT, "malloc");
  return same_object(first, &next) || is_only_called_there(first);
}

const char* other_allocator() {
  if (!comes_first()) return object_of(dlsym(RTLD_DEFAULT, "malloc"));
  const void* const behind = address_of(next.malloc.load(std::memory_order_relaxed));
  // Other allocators even define __libc_malloc, but none defines the function for the C library's version.
  return same_object(behind, address_of(&gnu_get_libc_version)) ? nullptr : object_of(behind);
}

}  // namespace blastoff::allocator
