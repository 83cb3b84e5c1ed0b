//===- Checkpoint.cpp - A run that goes on where it was stopped -----------===//
//
// See Checkpoint.h.
//
//===----------------------------------------------------------------------===//

#include "StoredRecord.h"

#include "tenon/Format/Mesh.h"
#include "tenon/Runtime/Processes.h"
#include "tenon/Support/ParseNumber.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tenon;
using namespace tenon::runtime;
using Json = nlohmann::json;

namespace {

constexpr std::string_view stepPrefix = "step-";
constexpr const char *recordFile = "run.json";
// One file now. A run on several devices writes one per device, and run.json
// names for each tensor the file that holds it.
constexpr const char *stateFile = "state-1-of-1.safetensors";
constexpr uint64_t maxRecordBytes = uint64_t(256) << 20;

std::string inQuotes(const std::string &text) { return "'" + text + "'"; }

/// What a caller of the step sees of it: arguments by name, results by number,
/// since they may be renamed.
Json signatureOf(const Executor &executor) {
  Json tensors = Json::object();
  const format::Index &index = executor.index();
  for (size_t i = 0; i < index.visibleTensors(); ++i) {
    const format::Tensor &tensor = index.tensors[i];
    if (!tensor.isOfStep())
      continue;
    bool isArgument = executor.isState(i) || executor.isBatch(i);
    std::string type(name(tensor.type));
    for (size_t d = 0; d < tensor.shape.size(); ++d)
      type += (d ? "x" : " ") + std::to_string(tensor.shape[d]);
    tensors[isArgument ? tensor.name
                       : "result" + std::to_string(tensor.result)] =
        std::string(executor.isState(i)   ? "state "
                    : executor.isBatch(i) ? "batch "
                                          : "result ") +
        type;
  }
  return tensors;
}

/// What the bits of a step's values depend on besides the program.
Json arithmeticOf(const format::Index &index) {
  Json words = Json::object();
  for (const format::DeviceClass &device : index.deviceClasses)
    words["target of " + device.name] = device.architecture;
  words["subnormals"] = std::string(name(index.subnormals));
  words["compiler"] = index.producer;
  if (!index.mesh.empty())
    words["ranks"] = format::meshText(index.mesh);
  for (const format::Attribute &attribute : index.arithmetic)
    words[attribute.name] = attribute.text;
  for (const format::Callee &callee : index.callees)
    if (callee.kind == format::CalleeKind::library)
      words[callee.library] = callee.libraryVersion + " for " + callee.isa;
  return words;
}

/// One line per entry that differs between two objects of texts.
std::vector<std::string> differences(const Json &before, const Json &now) {
  std::set<std::string> keys;
  for (const Json *side : {&before, &now})
    for (const auto &entry : side->items())
      keys.insert(entry.key());
  auto text = [](const Json &side, const std::string &key) -> std::string {
    auto found = side.find(key);
    return found == side.end()  ? "nothing"
           : found->is_string() ? inQuotes(found->get<std::string>())
                                : textOfRecord(*found);
  };
  std::vector<std::string> lines;
  for (const std::string &key : keys)
    if (text(before, key) != text(now, key))
      lines.push_back(key + " was " + text(before, key) + " and is " +
                      text(now, key) + " now");
  return lines;
}

/// Reads a whole file; nothing with a message if it cannot.
std::optional<std::string> readFile(const std::string &path,
                                    std::string &error) {
  std::error_code code;
  uint64_t bytes = std::filesystem::file_size(path, code);
  if (code || bytes > maxRecordBytes) {
    error = code ? "cannot read " + inQuotes(path) + ": " + code.message()
                 : inQuotes(path) + " has " + std::to_string(bytes) +
                       " bytes, expected at most " +
                       std::to_string(maxRecordBytes);
    return std::nullopt;
  }
  std::string text(bytes, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(text.data(), std::streamsize(bytes))) {
    error = "cannot read " + inQuotes(path);
    return std::nullopt;
  }
  return text;
}

/// Reads and checks a run.json; false with what is wrong in `error`.
bool readRecord(const std::string &path, StoredRecord &record,
                std::string &error) {
  auto text = readFile(path, error);
  return text && readRecordText(*text, path, record, error);
}

/// The number in the name of a checkpoint.
std::optional<int64_t> stepOf(std::string_view name) {
  if (!name.starts_with(stepPrefix))
    return std::nullopt;
  name.remove_prefix(stepPrefix.size());
  auto step = parseNumber(name);
  return step && *step >= 0 ? step : std::nullopt;
}

} // namespace

std::unique_ptr<CheckpointFolder>
CheckpointFolder::open(const std::string &path, Error &error,
                       Processes *processes) {
  std::unique_ptr<CheckpointFolder> folder(new CheckpointFolder);
  folder->path = path;
  folder->processes = processes;
  while (folder->path.size() > 1 && folder->path.ends_with('/'))
    folder->path.pop_back();
  if ((folder->isWriter() && !folder->prepare(path, error)) ||
      !folder->confirm(error))
    return nullptr;
  return folder;
}

bool CheckpointFolder::isWriter() const {
  return !processes || processes->isFirst();
}

/// Whether the process that writes has come so far; it gives up otherwise.
bool CheckpointFolder::confirm(Error &error) const {
  int64_t isDone = 1;
  return !processes ||
         processes->decide(isDone, "the checkpoints in " + inQuotes(path),
                           error);
}

bool CheckpointFolder::prepare(const std::string &given, Error &error) {
  auto fail = [&](const std::string &what) {
    return refuse(error, Failure::file,
                  what + " " + inQuotes(given) + ": " + std::strerror(errno));
  };
  bool isNew = mkdir(path.c_str(), 0777) == 0;
  if (!isNew && errno != EEXIST)
    return fail("cannot make the folder for checkpoints");
  lock = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock < 0)
    return fail("cannot open the folder for checkpoints");
  if (flock(lock, LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK
               ? refuse(error, Failure::file,
                        "another run is writing checkpoints to " +
                            inQuotes(given) +
                            "; wait for its end, or give another folder")
               : fail("cannot lock the folder for checkpoints");
  std::string parent = std::filesystem::path(path).parent_path().string();
  if (isNew &&
      !format::syncFolder(parent.empty() ? "." : parent, error.message))
    return refuse(error, Failure::file, error.message);
  std::error_code code;
  std::vector<std::filesystem::path> left;
  for (const auto &entry : std::filesystem::directory_iterator(path, code))
    if (entry.path().filename().string().starts_with(
            format::AtomicFolder::unfinishedPrefix))
      left.push_back(entry.path());
  for (const std::filesystem::path &unfinished : left)
    std::filesystem::remove_all(unfinished, code);
  return true;
}

CheckpointFolder::~CheckpointFolder() {
  if (lock >= 0)
    close(lock);
}

std::vector<int64_t> CheckpointFolder::steps() const {
  std::vector<int64_t> found;
  std::error_code code;
  for (std::filesystem::directory_iterator entry(path, code), end;
       !code && entry != end; entry.increment(code))
    if (auto step = stepOf(entry->path().filename().string()))
      if (pathOf(*step) == entry->path().string())
        found.push_back(*step);
  std::ranges::sort(found, std::greater());
  return found;
}

std::string CheckpointFolder::pathOf(int64_t step) const {
  std::string digits = std::to_string(step);
  // Names of equal length sort as their numbers do.
  constexpr size_t width = 9;
  if (digits.size() < width)
    digits.insert(0, width - digits.size(), '0');
  return path + "/" + std::string(stepPrefix) + digits;
}

std::unique_ptr<format::AtomicFolder>
CheckpointFolder::write(const Executor &executor, const RunRecord &record,
                        Error &error) {
  Hashes hashes;
  error.kind = Failure::file;
  auto folder =
      format::AtomicFolder::create(pathOf(record.step), error.message);
  if (!folder || !saveState(executor, folder->unfinished() + "/" + stateFile,
                            error, &hashes))
    return nullptr;
  Json settings = Json::object(), tensors = Json::object();
  for (const auto &[name, setting] : record.settings) {
    settings[name] = {{"value", setting.value}};
    if (!setting.schedule.empty())
      settings[name]["schedule"] = setting.schedule;
  }
  for (const auto &[name, hash] : hashes)
    tensors[name] = {{"file", stateFile}, {"hash", format::hashText(hash)}};
  Json signature = signatureOf(executor);
  Json json = {
      {"checkpoint_version", uint64_t(checkpointVersion)},
      {"step", uint64_t(record.step)},
      {"batches", uint64_t(record.batches)},
      {"metrics_bytes", record.metricsBytes},
      {"settings", settings},
      {"data", record.data},
      {"signature",
       {{"hash", hashOfText(textOfRecord(signature))}, {"tensors", signature}}},
      {"arithmetic", arithmeticOf(executor.index())},
      {"tensors", tensors}};
  if (record.best)
    json["best"] = {{"step", std::to_string(record.best->step)},
                    {"rule", record.best->rule},
                    {"value", record.best->value}};
  json["hash"] = hashOfText(textOfRecord(json));
  std::string text = textOfRecord(json, 1) + "\n";
  if (!format::writeFile(folder->unfinished() + "/" + recordFile,
                         std::as_bytes(std::span(text)), error.message))
    return nullptr;
  return folder;
}

/// The part in a save of a process that does not write.
bool CheckpointFolder::saveWithOthers(const Executor &executor,
                                      Error &error) const {
  return saveState(executor, path + "/" + stateFile, error) && confirm(error);
}

bool CheckpointFolder::save(const Executor &executor, const RunRecord &record,
                            Error &error) {
  if (!isWriter())
    return saveWithOthers(executor, error);
  auto folder = write(executor, record, error);
  return folder && folder->commit(error.message) && confirm(error);
}

bool CheckpointFolder::trySaving(const Executor &executor,
                                 const RunRecord &record, Error &error) {
  if (!isWriter())
    return saveWithOthers(executor, error);
  return write(executor, record, error) && confirm(error);
}

void CheckpointFolder::keepNewest(size_t count, std::optional<int64_t> also) {
  if (!isWriter())
    return;
  std::vector<int64_t> all = steps();
  for (size_t i = count; i < all.size(); ++i) {
    if (also == all[i])
      continue;
    std::error_code ignored;
    // A folder that is half removed is no longer taken for a checkpoint.
    std::filesystem::remove(pathOf(all[i]) + "/" + recordFile, ignored);
    std::filesystem::remove_all(pathOf(all[i]), ignored);
  }
}

bool CheckpointFolder::load(Executor &executor, RunRecord &record,
                            std::vector<std::string> &notes,
                            Error &error) const {
  const Json signature = signatureOf(executor);
  std::string faults;
  for (int64_t step : steps()) {
    std::string folder = pathOf(step), why;
    StoredRecord stored;
    bool isWhole = readRecord(folder + "/" + recordFile, stored, why);
    // Not damaged, so it is not for this run to go back behind it.
    if (stored.isOfOtherVersion)
      return refuse(error, Failure::file, why);
    if (isWhole && stored.run.step != step) {
      why = inQuotes(folder) +
            " is damaged: its name says another step than its "
            "run.json";
      isWhole = false;
    }
    if (isWhole && stored.signature != signature) {
      std::string lines;
      for (const std::string &line : differences(stored.signature, signature))
        lines += "\n  " + line;
      return refuse(error, Failure::argument,
                    inQuotes(folder) +
                        " is of a step with another signature:" + lines +
                        "\ngive another folder with --checkpoints, or "
                        "the file that was compiled from this step");
    }
    Error unread;
    if (isWhole && !loadState(executor, folder + "/" + stored.file, unread,
                              &stored.hashes)) {
      why = inQuotes(folder) + ": " + unread.message;
      isWhole = false;
    }
    bool areAll = isWhole;
    if (processes &&
        !processes->ask(isWhole, areAll, "the reading of " + inQuotes(folder),
                        error))
      return false;
    if (isWhole && !areAll) {
      why = inQuotes(folder) + " cannot be read by another rank";
      isWhole = false;
    }
    if (!isWhole) {
      notes.push_back(why + "; an older checkpoint is taken");
      faults += "\n  " + why;
      continue;
    }
    record = stored.run;
    Json arithmetic = arithmeticOf(executor.index());
    // Files and checkpoints from before this was recorded say nothing of it.
    for (auto [one, other] : {std::pair(&stored.arithmetic, &arithmetic),
                              std::pair(&arithmetic, &stored.arithmetic)})
      if (!one->contains("constants"))
        other->erase("constants");
    for (const std::string &line : differences(stored.arithmetic, arithmetic))
      notes.push_back(
          line + ": from step " + std::to_string(step + 1) +
          " on, bits differ from those of the run that was stopped");
    return true;
  }
  return refuse(error, Failure::file,
                "no checkpoint in " + inQuotes(path) + " is whole:" + faults);
}
