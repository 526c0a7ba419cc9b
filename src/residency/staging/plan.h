// How transfers are cut into slots.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "residency/footprint.h"
#include "residency/staging.h"

namespace blastoff::residency::staging {

/// `runs` runs of `run_bytes` bytes that lie densely in a slot, and with their own pitches on the host and the device.
/// A triangular piece is a box on the device and in the slot of which only some bytes of each run belong to the host.
struct Piece {
  std::byte* host = nullptr;
  device::Address device = 0;
  std::size_t run_bytes = 0;
  std::size_t runs = 0;
  std::size_t host_pitch = 0;
  std::size_t device_pitch = 0;
  std::size_t slot_offset = 0;
  std::size_t transfer = 0;  ///< number of the transfer that it is a part of
  operation::Part part = operation::Part::full;
  std::size_t element_size = 1;

  std::size_t bytes() const { return run_bytes * runs; }

  /// The bytes of run `run` that belong to the host: the triangle is `upper` with its diagonal ending at the last row
  /// of the last run, or `lower` with its diagonal starting at the first row of the first.
  std::size_t first_byte(std::size_t run) const { return part == operation::Part::lower ? run * element_size : 0; }
  std::size_t end_byte(std::size_t run) const {
    return part == operation::Part::upper ? run_bytes - (runs - 1 - run) * element_size : run_bytes;
  }
};

/// The pieces that share a slot: [first_piece, end_piece) of the plan.
struct Load {
  std::size_t first_piece = 0;
  std::size_t end_piece = 0;
};

/// Some pieces of one load: what one thread copies in one go.
struct Share {
  std::size_t first_piece = 0;
  std::size_t end_piece = 0;
  std::size_t load = 0;
};

struct Plan {
  std::vector<Piece> pieces;
  std::vector<Load> loads;
  std::vector<Share> shares;
  std::size_t bytes = 0;

  template <class Part>
  std::span<const Piece> of(const Part& part) const {
    return std::span(pieces).subspan(part.first_piece, part.end_piece - part.first_piece);
  }
};

enum class Direction : bool { to_device, to_host };

/// Divides the work into about equal shares for `threads` threads. Towards the device each share is a separate load, so
/// that the first is sent early; towards the host, loads fill their slots. Towards the device, triangles are copied by
/// single columns, because nothing outside them may be written there. Towards the host they are copied as boxes of
/// neighbouring columns.
Plan make_plan(std::span<const Transfer> transfers, Direction direction, std::size_t slot_bytes, std::size_t threads);

/// With this many slots in transfer, the oldest is free or nearly so. It is still in the CPU's cache, where filling it
/// again is faster.
inline constexpr std::size_t few_in_flight = 8;

/// With half as many, the link runs dry in long transfers, while the threads wait for each other.
inline constexpr std::size_t max_in_flight = 16;

/// How many loads of an upload are to be in transfer before a slot is used again. A slot that is used for the first
/// time has to be page-locked, which takes longer than a short upload could gain.
std::size_t loads_in_flight(const Plan& plan);

/// Host memory to slot and back, exactly the host's bytes.
void gather(std::span<const Piece> pieces, std::byte* slot);
void scatter(std::span<const Piece> pieces, const std::byte* slot);

/// One copy between slot and device.
struct SlotCopy {
  std::size_t slot_offset = 0;
  device::Address device = 0;
  device::Block block;
};

/// Calls `function` for each copy that the pieces of a load need, until one fails. Pieces that are adjacent on both
/// sides are one copy. No copy spans a wide gap on the device, where there may be no memory.
template <class Function>
device::Status for_each_copy(std::span<const Piece> pieces, Function&& function) {
  for (std::size_t i = 0; i < pieces.size();) {
    const Piece& piece = pieces[i++];
    SlotCopy copy{piece.slot_offset, piece.device, {}};
    if (piece.runs == 1 || piece.device_pitch == piece.run_bytes) {
      std::size_t bytes = piece.bytes();
      // Never across transfers: what lies side by side on the device may be two allocations, which no copy may span.
      while (i < pieces.size() && pieces[i].transfer == piece.transfer && pieces[i].runs == 1 &&
             pieces[i].device == piece.device + bytes && pieces[i].slot_offset == piece.slot_offset + bytes) {
        bytes += pieces[i++].bytes();
      }
      copy.block = {.column_bytes = bytes, .columns = 1, .host_pitch = bytes, .device_pitch = bytes};
    } else {
      copy.block = {.column_bytes = piece.run_bytes,
                    .columns = piece.runs,
                    .host_pitch = piece.run_bytes,
                    .device_pitch = piece.device_pitch};
    }
    const bool apart = copy.block.columns > 1 && piece.device_pitch - piece.run_bytes >= wide_gap;
    const std::size_t parts = apart ? copy.block.columns : 1;
    if (apart) copy.block.columns = 1;
    for (std::size_t part = 0; part < parts; ++part) {
      if (auto done = function(copy); !done) return done;
      copy.slot_offset += piece.run_bytes;
      copy.device += piece.device_pitch;
    }
  }
  return {};
}

}  // namespace blastoff::residency::staging
