//===- MetricsFile.cpp - The scalar results of every step -----------------===//
//
// See MetricsFile.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/MetricsFile.h"

#include "tools/tenon/EventFile.h"

#include "tenon/Support/ParseNumber.h"
#include "tenon/Support/Refuse.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

using namespace tenon;
using namespace tenon::tool;

/// A value as it stands between commas.
static std::string fieldOf(const std::string &value) {
  if (value.find_first_of(",\"\r\n") == std::string::npos)
    return value;
  std::string text = "\"";
  for (char c : value)
    text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

static std::string lineOf(const std::vector<std::string> &values) {
  std::string line;
  for (const std::string &value : values)
    line += (line.empty() ? "" : ",") + fieldOf(value);
  return line + "\n";
}

/// A value as it stands in JSON, which has no infinity and no NaN.
static std::string jsonOf(const std::string &value) {
  if (value.empty())
    return "null";
  return nlohmann::json::accept(value) ? value : nlohmann::json(value).dump();
}

static std::string objectOf(const std::vector<std::string> &names,
                            const std::vector<std::string> &values) {
  std::string line;
  for (size_t i = 0; i < names.size(); ++i)
    line += (line.empty() ? "{" : ",") +
            nlohmann::json(names[i]).dump(
                -1, ' ', false, nlohmann::json::error_handler_t::replace) +
            ":" + jsonOf(values[i]);
  return line + "}\n";
}

std::string MetricsFile::entryOf(const std::vector<std::string> &values) const {
  if (format == Format::csv)
    return lineOf(values);
  if (format == Format::json)
    return objectOf(columns, values);
  std::vector<std::pair<std::string, float>> numbers;
  for (size_t i = 1; i < columns.size(); ++i)
    if (auto number = parseNumber<double>(values[i]))
      numbers.emplace_back(columns[i], float(*number));
  double now = std::chrono::duration<double>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count();
  return eventRecord(now, parseNumber(values[0]).value_or(0), numbers);
}

std::string MetricsFile::start() const {
  return format == Format::csv      ? lineOf(columns)
         : format == Format::events ? eventFileStart()
                                    : "";
}

bool MetricsFile::hasColumns() const {
  std::string found(start().size(), '\0');
  if (pread(file, found.data(), found.size(), 0) != ssize_t(found.size()) ||
      found != start())
    return false;
  if (format != Format::json)
    return true;
  // The first object has the names.
  found.resize(1 << 20);
  ssize_t count = pread(file, found.data(), found.size(), 0);
  found.resize(count < 0 ? 0 : size_t(count));
  found.resize(std::min(found.size(), found.find('\n')));
  auto first = nlohmann::json::parse(found, nullptr, false);
  return first.is_object() && first.size() == columns.size() &&
         std::ranges::all_of(columns, [&](const std::string &name) {
           return first.contains(name);
         });
}

std::unique_ptr<MetricsFile>
MetricsFile::open(const std::string &path,
                  const std::vector<std::string> &columns, uint64_t bytes,
                  std::string &error) {
  std::unique_ptr<MetricsFile> result(new MetricsFile);
  result->path = path;
  result->columns = columns;
  std::error_code code;
  if (path.ends_with(".jsonl")) {
    result->format = Format::json;
  } else if (path.ends_with('/') || std::filesystem::is_directory(path, code)) {
    result->format = Format::events;
    std::filesystem::create_directories(path, code);
    // TensorBoard shows what has this word in its name. A run that goes on
    // finds the file under a name without a time.
    result->path = std::filesystem::path(path) / "events.out.tfevents.tenon";
  }
  result->file =
      ::open(result->path.c_str(),
             O_RDWR | O_CREAT | O_CLOEXEC | (bytes ? 0 : O_TRUNC), 0666);
  struct stat status;
  auto fail = [&] {
    return refuse(error,
                  "cannot write '" + result->path + "': " + strerror(errno));
  };
  if (result->file < 0 || fstat(result->file, &status) != 0)
    return fail();
  if (bytes == 0 || status.st_size == 0) {
    result->waiting = result->start();
    if (!result->write(/*durable=*/false, error))
      return nullptr;
    return result;
  }
  if (uint64_t(status.st_size) < bytes)
    return refuse(error, "'" + result->path + "' has " +
                             std::to_string(status.st_size) +
                             " bytes, the checkpoint was written after " +
                             std::to_string(bytes) +
                             "; give --metrics the file that the run began, or "
                             "a new one");
  if (bytes < result->start().size() || !result->hasColumns())
    return refuse(error, "'" + result->path +
                             "' has other columns than this run; give "
                             "--metrics the file that the run began, "
                             "or a new one");
  if (ftruncate(result->file, off_t(bytes)) != 0 ||
      lseek(result->file, off_t(bytes), SEEK_SET) < 0)
    return fail();
  result->written = bytes;
  return result;
}

MetricsFile::~MetricsFile() {
  std::string ignored;
  if (file < 0)
    return;
  (void)write(/*durable=*/false, ignored);
  close(file);
}

void MetricsFile::add(const std::vector<std::string> &values) {
  waiting += entryOf(values);
}

bool MetricsFile::write(bool durable, std::string &error) {
  auto fail = [&] {
    return refuse(error, "cannot write '" + path + "': " + strerror(errno));
  };
  while (!waiting.empty()) {
    ssize_t count = ::write(file, waiting.data(), waiting.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return fail();
    waiting.erase(0, size_t(count));
    written += uint64_t(count);
  }
  // A pipe or a terminal has no disk.
  if (durable && fsync(file) != 0 && errno != EINVAL && errno != ENOTSUP)
    return fail();
  return true;
}
