//===- Devices.cpp - Simulated devices ------------------------------------===//
//
// See Devices.h. A process that waits is woken by the last one of its group; if
// nobody can run and somebody waits, all of them give up.
//
//===----------------------------------------------------------------------===//

#include "Devices.h"

#include <thread>

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

void Devices::passOn() {
  int64_t count = int64_t(processes.size());
  bool waits = false;
  for (int64_t step = 1; step <= count; ++step) {
    int64_t next = (turn + step) % count;
    if (processes[next].state == State::ready) {
      turn = next;
      changed.notify_all();
      return;
    }
    waits |= processes[next].state == State::waiting;
  }
  if (!waits)
    return;
  stuck = true;
  for (Process &process : processes)
    if (process.state == State::waiting)
      process.state = State::ready;
  passOn();
}

void Devices::waitForTurn(std::unique_lock<std::mutex> &lock, int64_t process) {
  changed.wait(lock, [&] {
    return turn == process && processes[process].state == State::ready;
  });
}

LogicalResult Devices::run(llvm::function_ref<LogicalResult(int64_t)> body) {
  std::vector<std::thread> threads;
  bool failed = false; // only the process whose turn it is writes it
  turn = 0;
  for (int64_t process = 0; process < int64_t(processes.size()); ++process)
    threads.emplace_back([&, process] {
      std::unique_lock<std::mutex> lock(mutex);
      waitForTurn(lock, process);
      lock.unlock();
      bool ok = succeeded(body(process));
      lock.lock();
      failed |= !ok;
      processes[process].state = State::ended;
      passOn();
    });
  for (std::thread &thread : threads)
    thread.join();
  return failure(failed);
}

FailureOr<std::vector<Tensors>> Devices::exchange(Operation *op,
                                                  int64_t process,
                                                  ArrayRef<int64_t> group,
                                                  Tensors given) {
  std::unique_lock<std::mutex> lock(mutex);
  auto key = std::make_pair(op, group.vec());
  Meeting &meeting = meetings[key];
  meeting[process] = std::move(given);
  if (meeting.size() < group.size()) {
    processes[process].state = State::waiting;
    passOn();
    waitForTurn(lock, process);
    if (processes[process].received.empty())
      return op->emitOpError("waits for devices that do not come: ")
             << group.size() << " have to meet";
    return std::exchange(processes[process].received, std::vector<Tensors>());
  }
  std::vector<Tensors> all;
  for (int64_t member : group)
    all.push_back(meeting[member]);
  meetings.erase(key);
  for (int64_t member : group)
    if (member != process) {
      processes[member].received = all;
      processes[member].state = State::ready;
    }
  return all;
}

void Devices::send(int64_t channel, int64_t source, int64_t target,
                   Tensors message) {
  std::lock_guard<std::mutex> lock(mutex);
  messages[{channel, source, target}].push_back(std::move(message));
  // Whoever waits looks again; who waits for others goes on waiting.
  if (target < int64_t(processes.size()) && processes[target].receives)
    processes[target].state = State::ready;
}

FailureOr<Tensors> Devices::receive(Operation *op, int64_t channel,
                                    int64_t source, int64_t process) {
  std::unique_lock<std::mutex> lock(mutex);
  std::deque<Tensors> &waiting = messages[{channel, source, process}];
  while (waiting.empty()) {
    if (stuck)
      return op->emitOpError("waits for a message that nobody sends");
    processes[process].state = State::waiting;
    processes[process].receives = true;
    passOn();
    waitForTurn(lock, process);
    processes[process].receives = false;
  }
  Tensors message = std::move(waiting.front());
  waiting.pop_front();
  return message;
}

func::FuncOp Devices::nextFeed() {
  std::lock_guard<std::mutex> lock(mutex);
  if (feed.empty())
    return nullptr;
  func::FuncOp function = feed.front();
  feed.pop_front();
  return function;
}

FailureOr<std::vector<Tensors>>
reference::runOnDevices(func::FuncOp function, ArrayRef<Tensors> arguments,
                        Subnormals subnormals, InterpreterLimits limits) {
  Devices devices(/*replicas=*/1, int64_t(arguments.size()));
  std::vector<Tensors> returned(arguments.size());
  if (failed(devices.run([&](int64_t device) -> LogicalResult {
        Interpreter own(subnormals, limits, &devices, device);
        auto values = own.run(function, arguments[device]);
        if (failed(values))
          return failure();
        returned[device] = std::move(*values);
        return success();
      })))
    return failure();
  return std::move(returned);
}
