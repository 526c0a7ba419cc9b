// The driver of a vendor's GPUs: a table of functions, in the words that CUDA and HIP share.
//
// Where a driver has a function with these arguments, the field holds that function itself. The others are functions of
// the vendor's folder. Handles, flags and numbers are those of CUDA and of HIP, where these are equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "device/address.h"
#include "device/error.h"

namespace blastoff::device {
struct Choice;
}

namespace blastoff::device::gpu {

struct Driver;
struct Gpu;

/// What the driver returns: `success`, or one of its errors.
using Code = int;
constexpr Code success = 0;

using ContextHandle = struct NativeContext*;
using StreamHandle = struct NativeStream*;
using EventHandle = struct NativeEvent*;
using ModuleHandle = struct NativeModule*;
using FunctionHandle = struct NativeFunction*;
using AllocationHandle = unsigned long long;

constexpr unsigned stream_default = 0;
constexpr unsigned stream_non_blocking = 1;
constexpr unsigned event_disable_timing = 2;
constexpr unsigned host_portable = 1;    // for allocate_host and for register_host
constexpr unsigned host_device_map = 2;  // for allocate_host and for register_host

constexpr int memory_type_host = 1;
constexpr int memory_type_device = 2;

/// A copy between two rectangles. The type of memory says whether `source_host` or `source` is the address.
struct RectangleCopy {
  std::size_t source_x = 0;
  std::size_t source_y = 0;
  int source_type = 0;
  const void* source_host = nullptr;
  Address source = 0;
  void* source_array = nullptr;
  std::size_t source_pitch = 0;
  std::size_t destination_x = 0;
  std::size_t destination_y = 0;
  int destination_type = 0;
  void* destination_host = nullptr;
  Address destination = 0;
  void* destination_array = nullptr;
  std::size_t destination_pitch = 0;
  std::size_t width_bytes = 0;
  std::size_t height = 0;
};

/// The modules of Blastoff's own kernels, as load_module() takes them.
struct KernelModules {
  const char* magnitude;
  const char* norm;
  const char* permutation;
  const char* run_copy;
  const char* scale;
  const char* transpose;
  const char* triangle;
};

/// What an error of the driver means.
enum class Failure : std::uint8_t {
  out_of_memory,
  unsupported,
  refused,  ///< the driver did not do this; the context is as it was
  fatal,    ///< the context is unusable, or there is none
};

/// All functions are set but `prefetch`. A GPU is given by its number.
struct Driver {
  const char* kind;              ///< as in Properties::kind
  const char* visible_variable;  ///< environment variable that names the visible GPUs
  const KernelModules* kernels;

  Failure (*failure)(Code code);
  /// "CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)".
  std::string (*describe)(Code code);

  /// Starts the driver, and counts the GPUs that it shows to this process. An error if there is none.
  Result<int> (*start)();
  Code (*version)(int* version);
  Code (*count)(int* count);
  Code (*find)(int* gpu, int number);
  Code (*name)(char* name, int length, int gpu);
  Code (*bus_name)(char* name, int length, int gpu);
  bool (*uses_host_page_tables)(int gpu);
  /// Why Blastoff cannot use the GPU: it is too old. "" otherwise.
  std::string (*too_old)(int gpu);
  /// Why an administrator's setting may keep this process from the GPU; "" if none does.
  std::string (*closed)(int gpu);
  /// Adds the vendor's part of what the GPU can do; see inspect() in device/gpu/choose_gpu.h. The context is current.
  void (*inspect)(const Driver& driver, int gpu, const Choice& choice, Gpu& found);

  Code (*retain_context)(ContextHandle* context, int gpu);
  Code (*release_context)(int gpu);
  Code (*push_context)(ContextHandle context);
  Code (*pop_context)(ContextHandle* context);
  Code (*can_reach)(int* possible, int gpu, int other);
  Code (*reach)(ContextHandle other);  ///< `success` also if this has been done before

  Code (*memory_info)(std::size_t* free, std::size_t* total);
  Code (*allocate)(Address* address, std::size_t bytes);
  Code (*free)(Address address);
  Code (*reserve)(Address* address, std::size_t bytes, std::size_t alignment, Address wanted, unsigned long long flags);
  Code (*release)(Address address, std::size_t bytes);
  Code (*create_memory)(AllocationHandle* memory, std::size_t bytes, int gpu);
  Code (*release_memory)(AllocationHandle memory);
  Code (*map)(Address address, std::size_t bytes, std::size_t offset, AllocationHandle memory,
              unsigned long long flags);
  Code (*unmap)(Address address, std::size_t bytes);
  Code (*set_access)(Address address, std::size_t bytes, std::span<const int> gpus);

  Code (*allocate_host)(void** address, std::size_t bytes, unsigned flags);
  Code (*free_host)(void* address);
  Code (*register_host)(void* address, std::size_t bytes, unsigned flags);
  Code (*unregister_host)(void* address);
  Code (*address_on_device)(Address* address, void* host, unsigned flags);
  Code (*memory_type)(unsigned* type, Address address);  ///< 0: the driver does not know the memory

  Code (*copy_to_device)(Address to, const void* from, std::size_t bytes, StreamHandle stream);
  Code (*copy_to_host)(void* to, Address from, std::size_t bytes, StreamHandle stream);
  Code (*copy_on_device)(Address to, Address from, std::size_t bytes, StreamHandle stream);
  Code (*copy_rectangle)(const RectangleCopy* copy, StreamHandle stream);
  Code (*set_bytes)(Address to, unsigned char value, std::size_t bytes, StreamHandle stream);
  Code (*prefetch)(Address address, std::size_t bytes, int gpu, StreamHandle stream);  ///< may be null

  Code (*create_stream)(StreamHandle* stream, unsigned flags);
  Code (*destroy_stream)(StreamHandle stream);
  Code (*synchronize_stream)(StreamHandle stream);
  Code (*wait_for_event)(StreamHandle stream, EventHandle event, unsigned flags);
  Code (*create_event)(EventHandle* event, unsigned flags);
  Code (*destroy_event)(EventHandle event);
  Code (*record_event)(EventHandle event, StreamHandle stream);
  Code (*synchronize_event)(EventHandle event);

  Code (*load_module)(ModuleHandle* module, const void* image);
  Code (*unload_module)(ModuleHandle module);
  Code (*find_function)(FunctionHandle* function, ModuleHandle module, const char* name);
  Code (*launch)(FunctionHandle function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads_x,
                 unsigned threads_y, unsigned threads_z, unsigned shared_bytes, StreamHandle stream, void** parameters,
                 void** extra);
};

}  // namespace blastoff::device::gpu
