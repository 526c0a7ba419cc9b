#include "residency/staging/plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "platform/racing_copy.h"

namespace blastoff::residency::staging {
namespace {

constexpr std::size_t alignment = 64;  ///< of pieces within a slot

/// Fills one load after another, share by share.
class Planner {
 public:
  Planner(Plan& plan, std::size_t load_bytes, std::size_t share_bytes)
      : plan_(plan), load_bytes_(load_bytes), share_bytes_(share_bytes) {}

  void begin_transfer(std::size_t number) { transfer_ = number; }

  void add(Piece piece) {
    while (piece.runs > 0) {
      if (piece.run_bytes > share_bytes_) {
        add_long_run(piece);
        advance(piece, 1);
      } else if (piece.run_bytes > load_room()) {
        close_load();
      } else if (piece.run_bytes > share_room()) {
        close_share();
      } else {
        Piece part = piece;
        part.runs = std::min(piece.runs, std::min(load_room(), share_room()) / piece.run_bytes);
        put(part);
        advance(piece, part.runs);
      }
    }
  }

  /// A piece that must stay whole and fits an empty share.
  void add_whole(const Piece& piece) {
    if (piece.bytes() > load_room()) close_load();
    if (piece.bytes() > share_room()) close_share();
    put(piece);
  }

  void close_load() {
    close_share();
    if (load_start_ < plan_.pieces.size()) plan_.loads.push_back({load_start_, plan_.pieces.size()});
    load_start_ = plan_.pieces.size();
    load_used_ = 0;
  }

 private:
  std::size_t load_room() const { return load_bytes_ - std::min(load_used_, load_bytes_); }
  std::size_t share_room() const { return share_bytes_ - std::min(share_used_, share_bytes_); }

  void put(Piece piece) {
    const std::size_t padded = (piece.bytes() + alignment - 1) / alignment * alignment;
    piece.slot_offset = load_used_;
    piece.transfer = transfer_;
    load_used_ += padded;
    share_used_ += padded;
    plan_.pieces.push_back(piece);
  }

  void close_share() {
    if (share_start_ < plan_.pieces.size()) {
      plan_.shares.push_back({share_start_, plan_.pieces.size(), plan_.loads.size()});
    }
    share_start_ = plan_.pieces.size();
    share_used_ = 0;
  }

  static void advance(Piece& piece, std::size_t runs) {
    piece.runs -= runs;
    piece.host += runs * piece.host_pitch;
    piece.device += runs * piece.device_pitch;
  }

  void add_long_run(const Piece& piece) {
    for (std::size_t at = 0; at < piece.run_bytes;) {
      if (load_room() == 0) close_load();
      if (share_room() == 0) close_share();
      Piece part = piece;
      part.runs = 1;
      part.host += at;
      part.device += at;
      part.run_bytes = std::min({load_room(), share_room(), piece.run_bytes - at});
      put(part);
      at += part.run_bytes;
    }
  }

  Plan& plan_;
  const std::size_t load_bytes_;
  const std::size_t share_bytes_;
  std::size_t transfer_ = 0;
  std::size_t load_start_ = 0;
  std::size_t load_used_ = 0;
  std::size_t share_start_ = 0;
  std::size_t share_used_ = 0;
};

Piece whole_block(const Transfer& transfer) {
  const device::Block& block = transfer.block;
  Piece piece{.host = static_cast<std::byte*>(transfer.host),
              .device = transfer.device,
              .run_bytes = block.column_bytes,
              .runs = block.column_bytes == 0 ? 0 : block.columns,
              .host_pitch = block.host_pitch,
              .device_pitch = block.device_pitch};
  const bool gapless = block.host_pitch == block.column_bytes && block.device_pitch == block.column_bytes;
  if (gapless && piece.runs > 1) {
    piece.run_bytes *= piece.runs;
    piece.runs = 1;
  }
  return piece;
}

/// Rows [first_row, end_row) of columns [first, end) of the transfer.
Piece box(const Transfer& transfer, std::size_t first, std::size_t end, std::size_t first_row, std::size_t end_row) {
  const std::size_t size = transfer.element_size;
  return {.host = static_cast<std::byte*>(transfer.host) + first * transfer.block.host_pitch + first_row * size,
          .device = transfer.device + first * transfer.block.device_pitch + first_row * size,
          .run_bytes = (end_row - first_row) * size,
          .runs = end - first,
          .host_pitch = transfer.block.host_pitch,
          .device_pitch = transfer.block.device_pitch};
}

/// Columns [first, end) of the triangle as the smallest box around them.
Piece triangle_columns(const Transfer& transfer, std::size_t first, std::size_t end) {
  const std::size_t n = transfer.block.columns;
  const bool upper = transfer.part == operation::Part::upper;
  Piece piece = upper ? box(transfer, first, end, 0, end) : box(transfer, first, end, first, n);
  piece.part = transfer.part;
  piece.element_size = transfer.element_size;
  return piece;
}

/// Towards the host: boxes of columns, narrow enough that little of their content is discarded.
void add_boxed_triangle(Planner& planner, const Transfer& transfer, std::size_t share_bytes) {
  const std::size_t n = transfer.block.columns;
  const std::size_t widest = std::max<std::size_t>(64, n / 8);
  for (std::size_t first = 0, end = 0; first < n; first = end) {
    end = first + 1;
    while (end < n && end - first < widest && triangle_columns(transfer, first, end + 1).bytes() <= share_bytes) ++end;
    const Piece piece = triangle_columns(transfer, first, end);
    if (end - first > 1) {
      planner.add_whole(piece);
    } else {
      Piece column = piece;
      column.part = operation::Part::full;
      planner.add(column);
    }
  }
}

std::size_t payload(const Transfer& transfer) {
  return transfer.block.column_bytes * transfer.block.columns;
}

/// Bytes of one share. The link waits for the first share, so large ones cost time at the beginning; each share
/// costs a hand-over. With both costs, shares are best whose size is the geometric mean of what a hand-over costs and
/// of the whole.
std::size_t suitable_share(std::size_t bytes) {
  constexpr std::size_t min_slot = std::size_t{256} << 10;  // a hand-over takes as long as to copy that
  constexpr std::size_t max_slot = std::size_t{2}
                                   << 20;  // above that slots fall out of the CPU's cache between two uses
  constexpr std::size_t page = 4096;
  const auto best = static_cast<std::size_t>(std::sqrt(static_cast<double>(min_slot) * static_cast<double>(bytes)));
  const std::size_t fair = bytes / 2;
  return std::clamp((std::min(best, fair) + page - 1) / page * page, min_slot, max_slot);
}

}  // namespace

std::size_t loads_in_flight(const Plan& plan) {
  return std::clamp(plan.loads.size() / 4, few_in_flight, max_in_flight);
}

Plan make_plan(std::span<const Transfer> transfers, Direction direction, std::size_t slot_bytes, std::size_t threads) {
  std::size_t total = 0;
  for (const Transfer& transfer : transfers) total += payload(transfer);
  const std::size_t share_bytes = std::min(slot_bytes, suitable_share(total / threads));

  Plan plan;
  plan.bytes = total;
  Planner planner(plan, direction == Direction::to_device ? share_bytes : slot_bytes, share_bytes);
  for (const Transfer& transfer : transfers) {
    planner.begin_transfer(static_cast<std::size_t>(&transfer - transfers.data()));
    if (transfer.part == operation::Part::full) {
      planner.add(whole_block(transfer));
    } else if (direction == Direction::to_host) {
      add_boxed_triangle(planner, transfer, share_bytes);
    } else {
      for (std::size_t j = 0; j < transfer.block.columns; ++j) {
        Piece column = triangle_columns(transfer, j, j + 1);
        column.part = operation::Part::full;
        planner.add(column);
      }
    }
  }
  planner.close_load();
  return plan;
}

void gather(std::span<const Piece> pieces, std::byte* slot) {
  for (const Piece& piece : pieces) {
    for (std::size_t run = 0; run < piece.runs; ++run) {
      platform::racing_copy(slot + piece.slot_offset + run * piece.run_bytes, piece.host + run * piece.host_pitch,
                            piece.run_bytes);
    }
  }
}

void scatter(std::span<const Piece> pieces, const std::byte* slot) {
  for (const Piece& piece : pieces) {
    for (std::size_t run = 0; run < piece.runs; ++run) {
      const std::size_t first = piece.first_byte(run);
      std::memcpy(piece.host + run * piece.host_pitch + first, slot + piece.slot_offset + run * piece.run_bytes + first,
                  piece.end_byte(run) - first);
    }
  }
}

}  // namespace blastoff::residency::staging
