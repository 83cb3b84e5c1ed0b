//===- FuzzRunRecord.cpp - Any bytes as the run.json of a checkpoint ------===//
//
// As they are, and with the hash that their other entries have, without which
// nothing behind the check of the hash would ever be reached.
//
//===----------------------------------------------------------------------===//

#include "StoredRecord.h"

#include "tenon/Support/JsonShape.h"

#include <cstdlib>

using namespace tenon;
using namespace tenon::runtime;

static void read(const std::string &text) {
  StoredRecord record;
  std::string error;
  if (!readRecordText(text, "run.json", record, error)) {
    if (error.empty())
      abort(); // refused without a word
    return;
  }
  if (record.run.step < 0 || record.run.batches < 0)
    abort();
  if (!record.hashes.empty() && record.file.empty())
    abort(); // a tensor that is nowhere
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  read(text);
  JsonShape shape(text, 8);
  if (shape.isDeep)
    return 0;
  auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return 0;
  json.erase("hash");
  json["hash"] = hashOfText(textOfRecord(json));
  read(textOfRecord(json));
  return 0;
}
