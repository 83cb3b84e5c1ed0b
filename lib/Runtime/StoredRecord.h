//===- StoredRecord.h - The run.json of a checkpoint ----------------------===//
//
// Private to this folder. Reads the text that says what a checkpoint holds, and
// trusts nothing of it: its last entry is the hash of all others, so a changed
// digit anywhere is found before anything is believed.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_STOREDRECORD_H
#define TENON_LIB_RUNTIME_STOREDRECORD_H

#include "tenon/Runtime/Checkpoint.h"

#include <nlohmann/json.hpp>

namespace tenon::runtime {

inline constexpr int64_t checkpointVersion = 1;

/// A run.json as it was read.
struct StoredRecord {
  RunRecord run;
  nlohmann::json signature, arithmetic;
  bool isOfOtherVersion = false;
  std::string file; // with the state
  Hashes hashes;
};

/// Reads and checks the text of the run.json at `path`; false with what is
/// wrong in `error`.
bool readRecordText(std::string_view text, const std::string &path,
                    StoredRecord &record, std::string &error);

/// The same text for equal values: the library sorts keys. Names that are no
/// UTF-8 lose what is not, in the same way each time.
std::string textOfRecord(const nlohmann::json &json, int indent = -1);

/// What the entry `hash` of a record is, of the text of the others.
std::string hashOfText(const std::string &text);

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_STOREDRECORD_H
