//===- TraceFile.cpp - What a run did, and when, for Perfetto -------------===//
//
// See TraceFile.h. The format is the "Trace Event Format" in JSON; times are
// microseconds.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/TraceFile.h"

#include "tenon/Support/Refuse.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace tenon;
using namespace tenon::tool;

/// What ends the file behind the last event.
static constexpr std::string_view fileEnd = "\n]}\n";
/// Shorter waits are the cost of asking whether the others are there.
static constexpr int64_t shortestWait = 200; // nanoseconds
/// Lanes that the lanes of threads and of readers begin at.
static constexpr uint64_t firstThread = 2, firstReader = 100'000;

static int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

static std::string jsonText(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false,
                                   nlohmann::json::error_handler_t::replace);
}

static std::string microseconds(int64_t nanoseconds) {
  char text[48];
  std::snprintf(text, sizeof(text), "%.3f", double(nanoseconds) / 1e3);
  return text;
}

std::unique_ptr<TraceFile> TraceFile::create(const std::string &path,
                                             const std::string &program,
                                             std::string &error) {
  std::unique_ptr<TraceFile> result(new TraceFile);
  result->path = path;
  result->origin = now();
  result->file =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (result->file < 0)
    return refuse(error, "cannot write '" + path + "': " + strerror(errno));
  result->waiting = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"program\":" +
                    jsonText(program) + "},\"traceEvents\":[";
  result->name(runLane, "run");
  if (!result->write(error))
    return nullptr;
  return result;
}

TraceFile::~TraceFile() {
  if (file >= 0)
    close(file);
}

void TraceFile::append(const std::string &fields) {
  waiting += (isFirst ? "\n{" : ",\n{") + fields + "}";
  isFirst = false;
}

static std::string placeOf(uint32_t rank, uint64_t lane) {
  // A process or thread of the number 0 means an idle processor to some.
  return "\"pid\":" + std::to_string(rank + 1) +
         ",\"tid\":" + std::to_string(lane);
}

void TraceFile::name(Lane lane, const std::string &called) {
  auto say = [&](std::string_view what, const std::string &argument) {
    append(placeOf(lane.rank, lane.number) + ",\"ph\":\"M\",\"name\":\"" +
           std::string(what) + "\",\"args\":{" + argument + "}");
  };
  if (ranks.insert(lane.rank).second)
    say("process_name",
        "\"name\":" + jsonText("rank " + std::to_string(lane.rank)));
  if (!named.insert(lane).second)
    return;
  say("thread_name", "\"name\":" + jsonText(called));
  say("thread_sort_index", "\"sort_index\":" + std::to_string(lane.number));
}

void TraceFile::addSpan(Lane lane, std::string_view category,
                        const std::string &what, int64_t begin, int64_t end,
                        const std::string &arguments) {
  append(placeOf(lane.rank, lane.number) + ",\"ph\":\"X\",\"cat\":\"" +
         std::string(category) + "\",\"name\":" + jsonText(what) +
         ",\"ts\":" + microseconds(begin - origin) + ",\"dur\":" +
         microseconds(end - begin) + ",\"args\":{" + arguments + "}");
}

TraceFile::Activity::Activity(TraceFile *file, std::string what)
    : file(file), what(std::move(what)) {
  if (file)
    begin = now();
}

TraceFile::Activity::~Activity() {
  if (file)
    file->addSpan(runLane, "run", what, begin, now(), "");
}

void TraceFile::add(const runtime::StepTrace &trace, int64_t step) {
  lost += trace.leftOut;
  const std::string ofStep = ",\"step\":" + std::to_string(step);
  for (const runtime::TracedSpan &span : trace.spans) {
    const runtime::TracedOperation &operation =
        trace.operations[span.operation];
    if (span.isWait && span.end - span.begin < shortestWait)
      continue;
    const Lane lane{span.rank, firstThread + span.thread};
    name(lane, trace.isOneByOne    ? "device, one operation at a time"
               : span.isCollective ? "collectives"
                                   : "thread " + std::to_string(span.thread));
    const std::string &what =
        operation.source.empty() ? operation.name : operation.source;
    if (span.isWait) {
      addSpan(lane, "wait", "wait", span.begin, span.end,
              "\"behind\":" + jsonText(what) + ofStep);
      continue;
    }
    addSpan(lane, operation.library ? "call" : "kernel", what, span.begin,
            span.end,
            "\"runs\":" + jsonText(operation.name) +
                ",\"computes\":" + jsonText(operation.what) +
                ",\"source\":" + jsonText(operation.source) + ofStep);
  }
}

void TraceFile::addRead(size_t reader, int64_t batch, int64_t begin,
                        int64_t end) {
  const Lane lane{0, firstReader + reader};
  name(lane, "reader " + std::to_string(reader));
  addSpan(lane, "read", "read batch " + std::to_string(batch), begin, end, "");
}

bool TraceFile::write(std::string &error) {
  const uint64_t events = waiting.size();
  waiting += fileEnd;
  for (size_t done = 0; done < waiting.size();) {
    ssize_t count = pwrite(file, waiting.data() + done, waiting.size() - done,
                           off_t(written + done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return refuse(error, "cannot write '" + path + "': " + strerror(errno));
    done += size_t(count);
  }
  written += events;
  waiting.clear();
  return true;
}
