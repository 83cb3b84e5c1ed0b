//===- MetricsFile.h - The scalar results of every step -------------------===//
//
// One entry per step: values separated by commas, JSON objects, or the events
// that TensorBoard shows. A run that goes on from a checkpoint goes on with the
// file where it was then, so that it ends up as that of a run that was never
// stopped.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_METRICSFILE_H
#define TENON_TOOLS_TENON_METRICSFILE_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tenon::tool {

class MetricsFile {
public:
  /// Begins a new file, or with `bytes` goes on behind so many bytes of one
  /// that a run began with the same columns; a file that is not there is begun.
  /// A path that ends with `.jsonl` is one of JSON objects, a folder (or what
  /// ends with a slash, which is made) gets a file of events. The first column
  /// is the step. Null with a message in `error` if that fails.
  static std::unique_ptr<MetricsFile>
  open(const std::string &path, const std::vector<std::string> &columns,
       uint64_t bytes, std::string &error);
  /// Writes what was added.
  ~MetricsFile();
  MetricsFile(const MetricsFile &) = delete;
  MetricsFile &operator=(const MetricsFile &) = delete;

  /// Values are texts of numbers, as many as there are columns. An empty text
  /// is a value that the step does not have: nothing between commas, null in
  /// JSON, and no value among the events.
  void add(const std::vector<std::string> &values);
  /// Hands everything to the system; with `durable` also to the disk.
  bool write(bool durable, std::string &error);
  /// The bytes of all lines.
  uint64_t bytes() const { return written + waiting.size(); }

private:
  enum class Format { csv, json, events };

  MetricsFile() = default;
  std::string entryOf(const std::vector<std::string> &values) const;
  /// What every file of this kind and these columns begins with.
  std::string start() const;
  /// Whether an existing file has these columns, as far as it says.
  bool hasColumns() const;

  Format format = Format::csv;
  std::vector<std::string> columns;
  std::string path, waiting;
  int file = -1;
  uint64_t written = 0;
};

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_METRICSFILE_H
