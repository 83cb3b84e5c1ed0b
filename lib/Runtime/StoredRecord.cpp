//===- StoredRecord.cpp - The run.json of a checkpoint --------------------===//
//
// See StoredRecord.h.
//
//===----------------------------------------------------------------------===//

#include "StoredRecord.h"

#include "tenon/Support/JsonShape.h"
#include "tenon/Support/ParseNumber.h"

#include <algorithm>
#include <charconv>

using namespace tenon;
using namespace tenon::runtime;

std::string tenon::runtime::textOfRecord(const nlohmann::json &json,
                                         int indent) {
  return json.dump(indent, ' ', false,
                   nlohmann::json::error_handler_t::replace);
}

std::string tenon::runtime::hashOfText(const std::string &text) {
  return format::hashText(
      format::hashOf(std::as_bytes(std::span(text.data(), text.size()))));
}

namespace {

constexpr size_t deepestRecord = 8;

std::string quotedName(const std::string &text) { return "'" + text + "'"; }

bool readHash(const nlohmann::json &json, format::Hash &hash) {
  if (!json.is_string())
    return false;
  const auto &text = json.get_ref<const std::string &>();
  auto half = [&](size_t from, uint64_t &into) {
    const char *begin = text.data() + from, *end = begin + 16;
    auto [stop, code] = std::from_chars(begin, end, into, 16);
    return code == std::errc() && stop == end;
  };
  return text.size() == 32 && half(0, hash.high) && half(16, hash.low);
}

bool isObjectOfTexts(const nlohmann::json &json) {
  return json.is_object() &&
         std::ranges::all_of(json, [](const nlohmann::json &entry) {
           return entry.is_string();
         });
}

/// A count that is not negative.
template <typename Number>
bool readCount(const nlohmann::json &record, const char *key, Number &into) {
  auto found = record.find(key);
  if (found == record.end() || !found->is_number_unsigned() ||
      found->get<uint64_t>() > uint64_t(INT64_MAX))
    return false;
  into = Number(found->get<uint64_t>());
  return true;
}

bool readSettings(const nlohmann::json &settings,
                  std::map<std::string, Setting> &result) {
  if (!settings.is_object())
    return false;
  for (const auto &entry : settings.items()) {
    const nlohmann::json &setting = entry.value();
    if (!isObjectOfTexts(setting) || !setting.contains("value"))
      return false;
    result[entry.key()] = {setting["value"].get<std::string>(),
                           setting.value("schedule", std::string())};
  }
  return true;
}

bool readBest(const nlohmann::json &json, std::optional<Best> &best) {
  if (!isObjectOfTexts(json))
    return false;
  auto step = parseNumber(json.value("step", std::string()));
  if (!step || *step < 0 || !json.contains("rule") || !json.contains("value"))
    return false;
  best = {*step, json["rule"].get<std::string>(),
          json["value"].get<std::string>()};
  return true;
}

bool readTensors(const nlohmann::json &tensors, StoredRecord &record,
                 std::string &error) {
  if (!tensors.is_object())
    return refuse(error, "'tensors' is not an object");
  for (const auto &entry : tensors.items()) {
    const nlohmann::json &tensor = entry.value();
    if (!isObjectOfTexts(tensor) || !tensor.contains("file") ||
        !tensor.contains("hash") ||
        !readHash(tensor["hash"], record.hashes[entry.key()]))
      return refuse(error, "the entry of tensor " + quotedName(entry.key()) +
                               " lacks its file or its hash");
    std::string file = tensor["file"].get<std::string>();
    if (file.empty() || file.find('/') != std::string::npos)
      return refuse(error, quotedName(file) +
                               " is not the name of a file in the "
                               "checkpoint");
    if (!record.file.empty() && record.file != file)
      return refuse(error, "the state is in several files, this version reads "
                           "one");
    record.file = file;
  }
  return true;
}

} // namespace

bool tenon::runtime::readRecordText(std::string_view text,
                                    const std::string &path,
                                    StoredRecord &record, std::string &error) {
  auto damaged = [&](const std::string &what) {
    return refuse(error, quotedName(path) + " is damaged: " + what);
  };
  JsonShape shape(text, deepestRecord);
  if (shape.isDeep || shape.isTwice)
    return damaged(shape.isDeep ? "it is nested too deeply"
                                : "the key " + quotedName(shape.twice) +
                                      " is there twice");
  nlohmann::json json =
      nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return damaged("it is not a JSON object");
  int64_t version = 0;
  if (!readCount(json, "checkpoint_version", version))
    return damaged("it has no 'checkpoint_version'");
  if (version != checkpointVersion) {
    record.isOfOtherVersion = true;
    return refuse(error, quotedName(path) + " has the version " +
                             std::to_string(version) + ", this Tenon reads " +
                             std::to_string(checkpointVersion));
  }
  std::string hash = json.value("hash", nlohmann::json()).is_string()
                         ? json["hash"].get<std::string>()
                         : "";
  json.erase("hash");
  if (hash != hashOfText(textOfRecord(json)))
    return damaged("its entries do not have the hash that it gives");
  if (!readCount(json, "step", record.run.step) ||
      !readCount(json, "batches", record.run.batches) ||
      !readCount(json, "metrics_bytes", record.run.metricsBytes))
    return damaged("'step', 'batches' or 'metrics_bytes' is not a count");
  if (!readSettings(json.value("settings", nlohmann::json()),
                    record.run.settings))
    return damaged("'settings' is not what it should be");
  nlohmann::json data = json.value("data", nlohmann::json::object());
  if (!isObjectOfTexts(data))
    return damaged("'data' is not what it should be");
  record.run.data = data.get<std::map<std::string, std::string>>();
  if (json.contains("best") && !readBest(json["best"], record.run.best))
    return damaged("'best' is not what it should be");
  nlohmann::json signature = json.value("signature", nlohmann::json());
  record.arithmetic = json.value("arithmetic", nlohmann::json());
  record.signature = signature.is_object()
                         ? signature.value("tensors", nlohmann::json())
                         : nlohmann::json();
  if (!isObjectOfTexts(record.signature) || !isObjectOfTexts(record.arithmetic))
    return damaged("'signature' or 'arithmetic' is not what it should be");
  std::string why;
  return readTensors(json.value("tensors", nlohmann::json()), record, why) ||
         damaged(why);
}
