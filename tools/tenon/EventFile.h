//===- EventFile.h - Records that TensorBoard reads -----------------------===//
//
// An event file is a list of records, each with its length and two checksums,
// whose bytes are protobuf messages: first one with the version, then one per
// step with the values of that step.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_EVENTFILE_H
#define TENON_TOOLS_TENON_EVENTFILE_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tenon::tool {

/// What every file begins with, always the same bytes.
std::string eventFileStart();

/// The record of a step. `seconds` is the time since 1970.
std::string
eventRecord(double seconds, int64_t step,
            const std::vector<std::pair<std::string, float>> &values);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_EVENTFILE_H
