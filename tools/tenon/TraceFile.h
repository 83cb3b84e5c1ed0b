//===- TraceFile.h - What a run did, and when, for Perfetto ---------------===//
//
// `tenon run --trace=FILE`: a JSON file of events, as Perfetto and the browsers
// that are made from Chromium show it. A process in it is a rank; its lanes are
// what the run does between and around its steps, the threads of the step, the
// one of collectives beside them, and the threads that read batches.
//
//   run       |step 10                                    |step 11
//             |wait for a batch|run the step      |read results|
//   thread 0                   |l1/dot |wait|adam |
//   thread 1                   |l1/dot      |adam |
//   reader 0  |read batch 12              |
//
// The file is whole after each step.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_TRACEFILE_H
#define TENON_TOOLS_TENON_TRACEFILE_H

#include "tenon/Runtime/Trace.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace tenon::tool {

class TraceFile {
public:
  /// Null with a message in `error` if the file cannot be written. The events
  /// are of a run of `program`.
  static std::unique_ptr<TraceFile> create(const std::string &path,
                                           const std::string &program,
                                           std::string &error);
  ~TraceFile();
  TraceFile(const TraceFile &) = delete;
  TraceFile &operator=(const TraceFile &) = delete;

  /// Something that the run itself does, until the end of the scope; nothing
  /// without a file.
  class Activity {
  public:
    Activity(TraceFile *file, std::string what);
    ~Activity();
    Activity(const Activity &) = delete;
    Activity &operator=(const Activity &) = delete;

  private:
    TraceFile *file;
    std::string what;
    int64_t begin = 0;
  };

  /// What the threads of a step did.
  void add(const runtime::StepTrace &trace, int64_t step);
  /// That a reader read a batch; nanoseconds of the steady clock.
  void addRead(size_t reader, int64_t batch, int64_t begin, int64_t end);
  /// Puts what was added into the file; false with a message in `error` if that
  /// fails.
  bool write(std::string &error);

  /// How many spans the memory of a thread had no place for.
  uint64_t leftOut() const { return lost; }

private:
  TraceFile() = default;
  /// A lane of a rank.
  struct Lane {
    uint32_t rank = 0;
    uint64_t number = 0;
    auto operator<=>(const Lane &) const = default;
  };
  static constexpr Lane runLane{0, 1};

  /// Appends an event, `fields` without braces.
  void append(const std::string &fields);
  /// Says once what a lane is called.
  void name(Lane lane, const std::string &called);
  void addSpan(Lane lane, std::string_view category, const std::string &what,
               int64_t begin, int64_t end, const std::string &arguments);

  std::string path, waiting;
  int file = -1;
  uint64_t written = 0; // up to where the next event begins
  int64_t origin = 0;   // when the file was made
  bool isFirst = true;
  uint64_t lost = 0;
  std::set<Lane> named;
  std::set<uint32_t> ranks;
};

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_TRACEFILE_H
