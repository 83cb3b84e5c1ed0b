//===- MetricsFile.cpp - The scalar results of every step -----------------===//
//
// See MetricsFile.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/MetricsFile.h"

#include "tenon/Support/Refuse.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
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

std::unique_ptr<MetricsFile>
MetricsFile::open(const std::string &path,
                  const std::vector<std::string> &columns, uint64_t bytes,
                  std::string &error) {
  std::unique_ptr<MetricsFile> result(new MetricsFile);
  result->path = path;
  std::string header = lineOf(columns);
  result->file = ::open(
      path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | (bytes ? 0 : O_TRUNC), 0666);
  struct stat status;
  if (result->file < 0 || fstat(result->file, &status) != 0)
    return refuse(error, "cannot write '" + path + "': " + strerror(errno));
  if (bytes == 0 || status.st_size == 0) {
    result->waiting = header;
    if (!result->write(/*durable=*/false, error))
      return nullptr;
    return result;
  }
  if (uint64_t(status.st_size) < bytes)
    return refuse(error, "'" + path + "' has " +
                             std::to_string(status.st_size) +
                             " bytes, the checkpoint was written after " +
                             std::to_string(bytes) +
                             "; give --metrics the file that the run began, or "
                             "a new one");
  std::string found(header.size(), '\0');
  if (bytes < header.size() ||
      pread(result->file, found.data(), found.size(), 0) !=
          ssize_t(found.size()) ||
      found != header)
    return refuse(error, "'" + path +
                             "' has other columns than this run; give "
                             "--metrics the file that the run began, "
                             "or a new one");
  if (ftruncate(result->file, off_t(bytes)) != 0 ||
      lseek(result->file, off_t(bytes), SEEK_SET) < 0)
    return refuse(error, "cannot write '" + path + "': " + strerror(errno));
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
  waiting += lineOf(values);
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
