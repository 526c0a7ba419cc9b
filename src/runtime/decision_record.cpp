#include "runtime/decision_record.h"

#include "tracking/page_tracker.h"

namespace blastoff::runtime {

double seconds_of_page_faults(const report::Record& record) {
  return tracking::seconds_of_page_fault * static_cast<double>(record.traffic.page_faults) / record.parts;
}

decide::Observation observation_of(const report::Record& record, double seconds) {
  const auto links = static_cast<std::uint64_t>(record.parts);  // all carry about as much at once
  const operation::TrafficCounters& traffic = record.traffic;
  return {.on_device = true,
          .operands_kept = record.operands_kept,
          .typical = record.queues_at_once && !record.runs_on,
          .seconds = seconds + seconds_of_page_faults(record),
          .bytes_to_device = traffic.bytes_to_device / links,
          .bytes_from_device = traffic.bytes_from_device / links,
          .bytes_reused = (traffic.bytes_reused + traffic.bytes_met) / links,
          .bytes_left = traffic.bytes_left / links,
          .transfer_seconds = traffic.transfer_seconds};
}

}  // namespace blastoff::runtime
