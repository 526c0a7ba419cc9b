// The ELF objects of this process: their names, the libraries they need, and their definitions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct dl_phdr_info;

namespace blastoff::intercept {

/// Identifies an object by its place. After a dlclose(), another object may take that place.
struct ObjectIdentity {
  std::uintptr_t begin = UINTPTR_MAX;  ///< its segments lie in [begin, end)
  std::uintptr_t end = 0;
  std::string_view path;  ///< the path that the dynamic linker has for it; "" for the main program
};

/// Identifies an object that the dynamic linker lists.
ObjectIdentity identify(const dl_phdr_info& listed);

/// One loaded object (the main program, a shared library), as it was when listed.
struct LoadedObject {
  std::string path;  ///< the path that the dynamic linker has for it; "" for the main program
  std::string name;  ///< its DT_SONAME, else the base name of its path
  bool has_soname = false;
  std::vector<std::string> needed;  ///< its DT_NEEDED entries
  long space = 0;                   ///< its linker namespace, an Lmid_t: 0 is the program's
  std::uintptr_t bias = 0;          ///< what the process adds to its addresses as linked
  std::uintptr_t begin = 0;         ///< its segments lie in [begin, end)
  std::uintptr_t end = 0;

  bool contains(const void* address) const {
    const auto value = reinterpret_cast<std::uintptr_t>(address);
    return begin <= value && value < end;
  }
  ObjectIdentity identity() const { return {begin, end, path}; }
};

/// All objects of the program's own namespace, in load order.
std::vector<LoadedObject> loaded_objects();

/// Those of them that have one of these biases.
std::vector<LoadedObject> objects_with_bias(std::span<const std::uintptr_t> biases);

/// All objects of the namespace to which a handle of dlopen() or dlmopen() belongs.
std::vector<LoadedObject> objects_beside(void* handle);

/// The dynamic linker's counts of loads and unloads in all namespaces. Equal counts mean that nothing was loaded or
/// unloaded in between. The counts change before a new object can take the place of an unloaded one.
struct LinkerCounts {
  std::uint64_t loads = 0;
  std::uint64_t unloads = 0;  ///< only grows as long as nothing is loaded. (With more than one namespace, glibc
                              ///< counts wrongly.)

  bool operator==(const LinkerCounts& other) const = default;
  bool before(const LinkerCounts& other) const {
    return loads != other.loads ? loads < other.loads : static_cast<std::int64_t>(other.unloads - unloads) > 0;
  }
};
LinkerCounts linker_counts();

/// The object that holds an address (in the program's own namespace); nullopt: none does.
std::optional<LoadedObject> object_of(const void* address);

/// Whether `object` needs an object named `name`, directly or through others of `objects`.
bool depends_on(const std::vector<LoadedObject>& objects, const LoadedObject& object, std::string_view name);

/// Returns the path of the object that holds an address, as in LoadedObject but never "" for the main program; nullptr:
/// no object holds it.
const char* path_of(const void* address);

/// Returns the path by which the object's file can be opened. Valid as long as `object`.
const char* file_of(const LoadedObject& object);

/// Whether both addresses lie in the same object.
bool same_object(const void* left, const void* right);

/// Whether an address lies in this library. Does not call the linker.
bool in_own_object(const void* address);

/// Keeps an object loaded as long as this handle lives, so that its symbols can be looked up.
class ObjectHandle {
 public:
  /// Opens the object with this path, as in LoadedObject; the handle is empty if no such object is loaded (any more).
  explicit ObjectHandle(const char* path);
  /// Opens the object that holds an address.
  static ObjectHandle of(const void* address);
  ~ObjectHandle();
  ObjectHandle(ObjectHandle&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  ObjectHandle& operator=(ObjectHandle&&) = delete;

  /// Returns the definition in the object or, if it has none, in its dependencies; nullptr if none of them has one.
  void* find(const char* symbol) const;
  explicit operator bool() const { return handle_ != nullptr; }
  void* get() const { return handle_; }

 private:
  void* handle_;
};

/// Keeps the object that holds `address` loaded until the process ends.
void keep_loaded(const void* address);

}  // namespace blastoff::intercept
