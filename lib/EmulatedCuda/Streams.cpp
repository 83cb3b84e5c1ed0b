//===- Streams.cpp - Streams of work, and the events between them ---------===//
//
// Work is done when it is given, in that order, or, in the other mode, when the
// process waits for it: then a process that takes bytes too early, or changes
// them while a copy is under way, gets others.
//
// Of every piece of work it is known what comes before it: the work before in
// its stream, what an event that the stream waits for comes behind, and what
// the process had waited for. The bytes that it touched are compared with those
// of all work that neither comes before nor behind.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include <algorithm>

using namespace tenon::emulated;

namespace {

void joinClocks(StreamClock &into, const StreamClock &from) {
  for (auto [stream, count] : from)
    into[stream] = std::max(into[stream], count);
}

bool covers(const StreamClock &clock, unsigned stream, uint64_t count) {
  auto found = clock.find(stream);
  return found != clock.end() && found->second >= count;
}

} // namespace

std::string tenon::emulated::nameOf(const Work &work) {
  if (auto *library = std::get_if<std::shared_ptr<const LibraryWork>>(&work))
    return (*library)->name;
  if (auto *kernel = std::get_if<KernelWork>(&work))
    return "kernel '" + kernel->function->function->name + "'";
  return std::holds_alternative<CopyWork>(work)         ? "copy"
         : std::holds_alternative<FillWork>(work)       ? "fill"
         : std::holds_alternative<HostWork>(work)       ? "function of the host"
         : std::holds_alternative<GraphWork>(work)      ? "graph"
         : std::holds_alternative<EventWork>(work)      ? "event"
         : std::holds_alternative<std::monostate>(work) ? "empty node"
                                                        : "matrix product of "
                                                          "cuBLASLt";
}

void Driver::executeNode(const Work &work) {
  std::visit([&](const auto &each) { (void)execute(each); }, work);
}

void Driver::execute(const EventWork &work) {
  work.event->done = true;
  work.event->microseconds = microseconds;
}

CUresult Driver::enqueue(CUstream given, Work work) {
  if (given && given->capturing) {
    if (std::holds_alternative<GraphWork>(work) ||
        std::holds_alternative<EventWork>(work))
      return error(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                   "a " + nameOf(work) + " in a stream that captures");
    return addNode(&given->last, given->capturing, &given->last,
                   given->last ? 1 : 0, std::move(work));
  }
  if (fault)
    return CUDA_SUCCESS;
  CUstream_st &stream = given ? *given : defaultStream;
  joinClocks(stream.known, host);
  joinClocks(stream.known, defaultStream.known);
  if (!given)
    for (CUstream other : streams)
      joinClocks(stream.known, {{other->number, other->given}});
  stream.known[stream.number] = ++stream.given;
  StreamWork next{std::move(work), stream.known, {}};
  bool isLate = settings.streamsAreLate && given;
  if (auto *copy = std::get_if<CopyWork>(&next.work); copy && isLate) {
    // Memory that is not pinned is the process's again when the call returns.
    if (!copy->fromDevice && copy->bytes && !memory->find(copy->from)) {
      const auto *bytes = reinterpret_cast<const uint8_t *>(copy->from);
      next.staged.assign(bytes, bytes + copy->bytes);
      copy->from = reinterpret_cast<uint64_t>(next.staged.data());
    }
    isLate = copy->toDevice || memory->find(copy->to);
  }
  stream.waiting.push_back(std::move(next));
  if (!isLate)
    finish(stream, stream.given);
  return CUDA_SUCCESS;
}

CUstream_st *Driver::streamOf(unsigned number) {
  auto found = std::ranges::find(streams, number, &CUstream_st::number);
  return number == 0              ? &defaultStream
         : found == streams.end() ? nullptr
                                  : *found;
}

void Driver::finish(const StreamClock &clock) {
  for (auto [number, count] : clock)
    if (CUstream_st *stream = streamOf(number))
      finish(*stream, count);
}

void Driver::finish(CUstream_st &stream, uint64_t upTo) {
  while (stream.done < upTo && !stream.waiting.empty()) {
    StreamWork next = std::move(stream.waiting.front());
    stream.waiting.pop_front();
    ++stream.done;
    for (auto [number, count] : next.before)
      if (number != stream.number)
        finish({{number, count}});
    run(stream, next);
  }
}

void Driver::wait(const StreamClock &clock) {
  finish(clock);
  joinClocks(host, clock);
  // What everything to come is behind need not be compared again.
  std::erase_if(done, [&](const Done &one) {
    const uint64_t number = one.before.at(one.stream);
    return covers(host, one.stream, number) &&
           std::ranges::all_of(streams, [&](CUstream stream) {
             return std::ranges::all_of(
                 stream->waiting, [&](const StreamWork &work) {
                   return covers(work.before, one.stream, number);
                 });
           });
  });
}

void Driver::finishAll() {
  StreamClock all{{0, defaultStream.given}};
  for (CUstream stream : streams)
    all[stream->number] = stream->given;
  wait(all);
}

void Driver::run(CUstream_st &stream, const StreamWork &work) {
  if (fault)
    return;
  // A stream that is alone has nothing beside it.
  const bool isCompared = streams.size() > 1 &&
                          !std::holds_alternative<EventWork>(work.work) &&
                          &stream != &defaultStream;
  Done latest{stream.number, work.before, nameOf(work.work), {}};
  try {
    if (auto *graph = std::get_if<GraphWork>(&work.work)) {
      latest.footprints = execute(*graph);
    } else {
      if (isCompared)
        noteFootprints(*memory);
      executeNode(work.work);
      if (isCompared)
        latest.footprints = takeFootprints(*memory);
    }
    if (isCompared)
      compare(std::move(latest));
  } catch (const Fault &found) {
    setFault(found);
  }
  if (memory)
    dropFootprints(*memory);
}

void Driver::compare(Done &&latest) {
  for (const Done &other : done) {
    if (other.stream == latest.stream ||
        covers(latest.before, other.stream, other.before.at(other.stream)) ||
        covers(other.before, latest.stream, latest.before.at(latest.stream)))
      continue;
    overlaps += !other.footprints.empty() && !latest.footprints.empty();
    if (auto conflict = findConflict(other.footprints, latest.footprints))
      throw Fault{CUDA_ERROR_LAUNCH_FAILED,
                  "race between streams: " + other.name + " and " +
                      latest.name + " " + conflict->text() +
                      ", and no event orders them"};
  }
  done.push_back(std::move(latest));
}

#pragma GCC visibility push(default)

namespace {

/// What every call that waits ends with.
CUresult told(Driver &driver) {
  driver.reported |= driver.fault != nullptr;
  return driver.fault ? driver.fault->code : CUDA_SUCCESS;
}

StreamClock clockOf(CUstream stream) {
  return {{stream->number, stream->given}};
}

} // namespace

CUresult cuStreamCreate(CUstream *stream, unsigned) {
  BEGIN_CALL;
  driver.streams.insert(*stream = new CUstream_st);
  (*stream)->number = ++driver.streamNumber;
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  Call call;
  if (!call.driver.streams.count(stream))
    return CUDA_ERROR_INVALID_HANDLE;
  call.driver.finish(clockOf(stream));
  call.driver.streams.erase(stream);
  delete stream;
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream) {
  BEGIN_CALL;
  if (stream && stream->capturing)
    return driver.error(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                        "a wait for a stream that captures");
  if (stream)
    driver.wait(clockOf(stream));
  else
    driver.finishAll();
  return told(driver);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data) {
  BEGIN_CALL;
  return function ? driver.enqueue(stream, HostWork{function, data})
                  : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
  BEGIN_CALL;
  if (!stream || stream->capturing)
    return CUDA_ERROR_INVALID_VALUE;
  stream->last = nullptr;
  return cuGraphCreate(&stream->capturing, 0);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  BEGIN_CALL;
  if (!stream || !stream->capturing)
    return CUDA_ERROR_INVALID_VALUE;
  *graph = std::exchange(stream->capturing, nullptr);
  return CUDA_SUCCESS;
}

// A stream or an event that is asked again and again is done at last.
CUresult cuStreamQuery(CUstream stream) {
  BEGIN_CALL;
  if (stream && !driver.streams.count(stream))
    return CUDA_ERROR_INVALID_HANDLE;
  const bool isDone = !stream || stream->waiting.empty();
  if (stream)
    driver.wait(clockOf(stream));
  CUresult result = told(driver);
  return result == CUDA_SUCCESS && !isDone ? CUDA_ERROR_NOT_READY : result;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  BEGIN_CALL;
  if (!driver.events.count(event))
    return CUDA_ERROR_INVALID_HANDLE;
  if (stream && stream->capturing)
    return driver.error(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                        "an event that a stream waits for while it captures");
  // One that was never recorded is nothing to wait for.
  joinClocks((stream ? *stream : driver.defaultStream).known, event->before);
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned) {
  BEGIN_CALL;
  driver.events.insert(*event = new CUevent_st);
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event) {
  Call call;
  if (!call.driver.events.count(event))
    return CUDA_ERROR_INVALID_HANDLE;
  call.driver.finish(event->before);
  call.driver.events.erase(event);
  delete event;
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  BEGIN_CALL;
  if (!driver.events.count(event))
    return CUDA_ERROR_INVALID_HANDLE;
  event->recorded = true;
  event->done = false;
  CUresult result = driver.enqueue(stream, EventWork{event});
  event->before = (stream ? *stream : driver.defaultStream).known;
  return result;
}

CUresult cuEventSynchronize(CUevent event) {
  BEGIN_CALL;
  if (!driver.events.count(event))
    return CUDA_ERROR_INVALID_HANDLE;
  driver.wait(event->before);
  return told(driver);
}

CUresult cuEventQuery(CUevent event) {
  BEGIN_CALL;
  if (!driver.events.count(event))
    return CUDA_ERROR_INVALID_HANDLE;
  const bool isDone = !event->recorded || event->done;
  driver.wait(event->before);
  CUresult result = told(driver);
  return result == CUDA_SUCCESS && !isDone ? CUDA_ERROR_NOT_READY : result;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  BEGIN_CALL;
  if (!start->recorded || !end->recorded)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!start->done || !end->done)
    return CUDA_ERROR_NOT_READY;
  *milliseconds =
      float(int64_t(end->microseconds - start->microseconds)) / 1000;
  return CUDA_SUCCESS;
}

#pragma GCC visibility pop
