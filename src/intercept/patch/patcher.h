// Patches the BLAS functions of one loaded object.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "intercept/loaded_objects.h"
#include "intercept/object_instances.h"
#include "intercept/patch/obstacle.h"
#include "intercept/symbols/blas_functions.h"

namespace blastoff::intercept {

/// A BLAS function that could not be patched.
struct NotPatched {
  std::string name;
  patch::Obstacle obstacle;

  bool operator==(const NotPatched& other) const = default;
};

/// The outcome for an object's BLAS functions.
struct PatchedObject {
  std::string path;
  std::vector<std::string> patched;  ///< names of the functions
  std::vector<NotPatched> refused;
  std::vector<LeftAlone> left_alone;
  double seconds = 0;  ///< time spent on finding and patching them
};

/// When an object was loaded. A new object is hardly in use: only threads that its own constructors have started may
/// run its functions.
enum class Loaded : std::uint8_t { before, just_now };

/// Patches the functions found in an object in one step. A function that cannot be patched is left unchanged.
/// `to_ask`: answers for the functions that are not certain. The object must not be unloaded meanwhile. Only one
/// thread may call this at a time; other threads may run these functions. A function of an object that was loaded
/// before is refused if it cannot be patched while other threads may run it.
PatchedObject patch_object(const LoadedObject& object, InstanceNumber instance, Loaded loaded, const ObjectFile& file,
                           const BlasFunctions& found, Library* to_ask);

}  // namespace blastoff::intercept
