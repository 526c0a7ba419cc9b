#include "intercept/inspection.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string_view>

#include "intercept/front_ends.h"
#include "intercept/patch/architecture.h"
#include "intercept/patch/entry_stub.h"
#include "intercept/patch/jump_target.h"
#include "intercept/patch/relocator.h"
#include "intercept/symbols/blas_name.h"

namespace blastoff::intercept {
namespace {

using patch::Obstacle;

/// The longest change at a function's entry: a landing pad and the longest jump.
constexpr std::uint64_t entry_bytes = 32;

/// A library is recognised by a part of its file name, or by a symbol that no other library has ("": only by its name).
struct KnownLibrary {
  const char* name;
  const char* in_file_name;
  const char* in_symbol;
};

constexpr KnownLibrary known_libraries[] = {
    {"Blastoff", "libblastoff", "blastoff_version"},
    {"FlexiBLAS", "flexiblas", "flexiblas_"},
    {"libblastrampoline", "blastrampoline", "lbt_forward"},
    {"OpenBLAS", "openblas", "blas_memory_alloc"},
    {"MKL", "libmkl", "mkl_serv_"},
    {"BLIS", "libblis", "bli_gks_"},
    {"ATLAS", "atlas", "ATL_dgemm"},
    {"NVPL", "nvpl", "nvpl_blas_"},
    {"Arm PL", "libarmpl", "armpl_"},
    {"ESSL", "libessl", "esvemonp"},
    {"LibSci", "libsci", "libsci_"},
    {"GSL", "gslcblas", "gsl_cblas_"},
    {"FFTW", "libfftw3", "fftw_mkplanner"},
    {"FFTW", "libfftw3f", "fftwf_mkplanner"},
    {"BLIS", "libblis", "dgemm_batch_"},  // its libblas.so exports no function of its own
    {"ScaLAPACK", "libscalapack", ""},    // it calls lsame_, too
    {"reference BLAS", "librefblas", "lsame_"},
};

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

std::set<std::string_view> our_names() {
  std::set<std::string_view> names;
  for (const RoutineTable* table : front_ends())
    for (const EntryPoint& entry : table->entry_points) names.insert(entry.symbol);
  return names;
}

/// Returns an address for our code near all functions, as the patcher would choose it.
std::uint64_t nearby(const BlasFunctions& found) {
  constexpr std::uint64_t distance = 1 << 20;
  std::uint64_t end = 0;
  for (const BlasFunction& function : found.functions) end = std::max(end, function.address + function.room);
  return (end + distance) / distance * distance;
}

std::optional<Obstacle> try_patching(const ObjectFile& object, const BlasFunction& function, std::uint64_t place,
                                     patch::CallsOfOthers& known) {
  if (function.indirect) return Obstacle::indirect;
  const auto bytes = object.bytes(function.address, function.room);
  if (bytes.size() < function.room) return Obstacle::not_writable;
  const patch::FunctionCode code{bytes.first(function.size),
                                 function.room - function.size,
                                 function.address,
                                 object.code_around(function.address),
                                 false,
                                 &known};
  const auto change = patch::relocator(patch::native).patch(code, place, place + patch::longest_entry_stub);
  return change ? std::nullopt : std::optional(change.error());
}

void inspect_functions(const ObjectFile& object, const char* path, Inspection& inspection) {
  BlasFunctions found = find_blas_functions(object, path);
  const std::set<std::string_view> ours = our_names();
  const std::uint64_t place = nearby(found);
  patch::CallsOfOthers known;
  for (BlasFunction& function : found.functions) {
    InspectedFunction& inspected = inspection.functions.emplace_back();
    const auto is_ours = [&](const std::string& name) { return ours.count(name) != 0; };
    // The dynamic linker searches a program before the libraries that are preloaded into it.
    inspected.bound_by_our_name = inspection.linkage == Linkage::shared_object && function.exported &&
                                  std::any_of(function.names.begin(), function.names.end(), is_ours);
    if (inspection.native) inspected.obstacle = try_patching(object, function, place, known);
    const auto entry = object.bytes(function.address, std::min(function.room, entry_bytes));
    inspected.entry.assign(entry.begin(), entry.end());
    inspected.function = std::move(function);
  }
  inspection.left_alone = std::move(found.left_alone);
  for (const std::string_view name : object.blas_imports()) {
    const std::optional<BlasName> parts = parse_blas_name(name);
    if (parts && known_spelling(*parts)) inspection.imports.push_back({std::string(name), ours.count(name) != 0});
  }
  if (!inspection.functions.empty()) inspection.implementation = implementation_of(object, path);
}

std::vector<std::byte> read_memory(int memory, std::uint64_t address, std::size_t size) {
  std::vector<std::byte> bytes(size);
  const ssize_t count = pread(memory, bytes.data(), size, static_cast<off_t>(address));
  bytes.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return bytes;
}

/// Whether code is an entry stub with any context and target.
bool is_entry_stub(const std::vector<std::byte>& code) {
  const auto zeros = patch::entry_stub(patch::native, 0, 0);
  const auto ones = patch::entry_stub(patch::native, UINT64_MAX, UINT64_MAX);
  if (code.size() < zeros.size()) return false;
  for (std::size_t i = 0; i < zeros.size(); ++i)
    if (zeros[i] == ones[i] && code[i] != zeros[i]) return false;
  return true;
}

CodeState state_in_memory(const InspectedFunction& inspected, int memory, std::uint64_t address) {
  const std::vector<std::byte> code = read_memory(memory, address, inspected.entry.size());
  if (code.empty() || code.size() < inspected.entry.size()) return CodeState::not_looked_at;
  if (code == inspected.entry) return CodeState::as_in_file;
  std::optional<std::uint64_t> target = patch::jump_target(patch::native, code, address);
  // A function that was running when it was patched jumps to a second jump.
  for (int jumps = 0; target && jumps < 2; ++jumps) {
    const std::vector<std::byte> behind = read_memory(memory, *target, patch::longest_entry_stub);
    if (is_entry_stub(behind)) return CodeState::patched;
    target = patch::jump_target(patch::native, behind, *target);
  }
  return CodeState::changed;
}

}  // namespace

const char* implementation_of(const ObjectFile& object, const char* path) {
  const auto is = [&](const KnownLibrary& known) {
    return base_name(path).find(known.in_file_name) != std::string_view::npos ||
           object.soname().find(known.in_file_name) != std::string_view::npos ||
           (*known.in_symbol != '\0' && !object.names_with(known.in_symbol).empty());
  };
  const auto* const found = std::find_if(std::begin(known_libraries), std::end(known_libraries), is);
  return found == std::end(known_libraries) ? "" : found->name;
}

tl::expected<Inspection, std::string> inspect(const char* path) {
  const auto object = ObjectFile::open(path);
  if (!object) return tl::unexpected(object.error());
  Inspection inspection;
  inspection.machine = object->machine();
  inspection.native = object->machine() == patch::native_machine;
  inspection.linkage = object->linkage();
  inspection.stripped = object->stripped();
  inspection.soname = object->soname();
  for (const std::string_view needed : object->needed()) inspection.needed.emplace_back(needed);
  if (object->may_define_blas()) inspect_functions(*object, path, inspection);
  return inspection;
}

void compare_with_memory(Inspection& inspection, int memory, std::uint64_t bias) {
  if (!inspection.native) return;
  for (InspectedFunction& inspected : inspection.functions)
    inspected.state = state_in_memory(inspected, memory, bias + inspected.function.address);
}

const char* explain(Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::too_short: return "it is shorter than a jump";
    case Obstacle::branch_back: return "it branches back into its first instructions, which would have to move";
    case Obstacle::jump_table: return "it jumps to computed addresses, perhaps among its first instructions";
    case Obstacle::unknown_instruction: return "it contains an instruction that cannot be decoded or cannot be moved";
    case Obstacle::out_of_reach:
      return "its first instructions refer to addresses that are too far from every free place";
    case Obstacle::leaf:
      return "it calls no other object, so its callers may rely on registers that it does not change";
    case Obstacle::indirect: return "its symbol names a resolver that chooses among several functions (IFUNC)";
    case Obstacle::patched_already: return "another tool has changed its first instructions";
    case Obstacle::not_writable: return "the system does not allow its code to be changed";
    case Obstacle::no_memory: return "no free memory near it";
    case Obstacle::in_use:
      return "other threads may be running it, and none of its first instructions has room for a jump to free memory";
  }
  return "";
}

}  // namespace blastoff::intercept
