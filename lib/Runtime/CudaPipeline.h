//===- CudaPipeline.h - Steps of a GPU, one behind the other --------------===//
//
// Private to this folder. While the GPU works on a step, the process gives the
// next one what it takes and reads what the one before left:
//
//   copies      batch n + 1          batch n + 2
//   steps     step n  | take, step n + 1, keep | take, step n + 2, keep
//   process   reads n - 1 ...        reads n ...
//
// What is given waits in pinned memory of the process, and from there a stream
// of its own copies it to the GPU while a step runs. Since that step may still
// read the value before, it is copied to a place beside, and from there in
// front of the next step, within the GPU, which is some hundred times as quick.
// So a step finds it where the plan has it: its graphs are captured once, and
// planned memory is used as without. What is small, or has no place beside
// since memory is short, is copied in front of the step at once.
//
// Results that are watched are copied behind the step to pinned memory, where
// they stay until the next step has been finished. The process waits for an
// event behind them, not for the stream.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_CUDAPIPELINE_H
#define TENON_LIB_RUNTIME_CUDAPIPELINE_H

#include "CudaDevice.h"

#include <array>
#include <deque>

namespace tenon::runtime {

class CudaStep;

class CudaPipeline final : public StepPipeline {
public:
  /// Null with `error` filled in if the driver gives no stream. The callees
  /// outlive it.
  static std::unique_ptr<CudaPipeline>
  create(std::shared_ptr<CudaContext> context, const CudaCallees &callees,
         Error &error);
  ~CudaPipeline() override;

  bool give(void *to, std::span<const std::byte> value, Error &error) override;
  bool watch(const void *place, uint64_t bytes, Error &error) override;
  bool start(CapturedStep &step, RunOutcome &outcome) override;
  bool finish(RunOutcome &outcome) override;
  const std::byte *found(const void *place) const override;
  int64_t underWay() const override { return started - finished; }

private:
  /// For the steps that may be under way, and one that is made ready or read.
  static constexpr size_t slots = mostUnderWay + 1;

  /// A place of the GPU that steps take from or leave something in.
  struct Place {
    CUdeviceptr address = 0;
    uint64_t bytes = 0;
    std::array<std::byte *, slots> pinned{};
  };
  struct Input : Place {
    CUdeviceptr beside = 0;
    CUevent copied = nullptr, taken = nullptr; // to there, from there
    bool isGiven = false;                      // for the step that starts next
  };

  /// What is there behind a step whose library calls the host runs.
  struct Mark {
    const CudaHostCalls *calls = nullptr;
    bool haveRefused = false;
    static void make(void *mark);
  };

  CudaPipeline(std::shared_ptr<CudaContext> context, const CudaCallees &callees)
      : context(std::move(context)), callees(callees) {}
  CUresult allocate(Place &place);
  void release(Place &place);
  CUresult makeInput(Input &input);
  CUresult give(Input &input, std::span<const std::byte> value);
  CUresult take(Input &input);
  CUresult keep(const Place &output);
  bool fail(CUresult result, RunOutcome &outcome) const;

  std::shared_ptr<CudaContext> context;
  const CudaCallees &callees;
  CudaStep *latest = nullptr; // that was started
  std::array<Mark, slots> marks;
  CUstream copies = nullptr;
  std::deque<Input> inputs;
  std::deque<Place> outputs;
  std::array<CUevent, slots> ends{}; // behind the results of a step
  int64_t started = 0, finished = 0;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_CUDAPIPELINE_H
