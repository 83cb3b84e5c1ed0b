//===- GpuSchedules.cpp - How a GPU computes kernels ----------------------===//
//
// The list of schedules. The one for parts comes last: it takes everything.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/GPU/GpuSchedules.h"

#include "GpuSchedule.h"

namespace tenon::codegen {

GpuSchedules::GpuSchedules(const GpuTarget &target)
    : instructions(std::make_unique<GpuInstructions>(target)) {
  owned.push_back(std::make_unique<TransposeSchedule>(*instructions));
  owned.push_back(std::make_unique<ElementwiseSchedule>(*instructions));
  owned.push_back(std::make_unique<WarpRowSchedule>(*instructions));
  owned.push_back(std::make_unique<BlockRowSchedule>(*instructions));
  owned.push_back(std::make_unique<RowSchedule>(*instructions));
  owned.push_back(std::make_unique<ColumnSchedule>(*instructions));
  owned.push_back(std::make_unique<TensorAttentionSchedule>(*instructions));
  owned.push_back(
      std::make_unique<TensorAttentionGradientSchedule>(*instructions));
  owned.push_back(std::make_unique<FloatAttentionSchedule>(*instructions));
  owned.push_back(
      std::make_unique<FloatAttentionGradientSchedule>(*instructions));
  owned.push_back(std::make_unique<TensorProductSchedule>(*instructions));
  owned.push_back(std::make_unique<ProductSchedule>(*instructions));
  owned.push_back(std::make_unique<PointProductSchedule>(*instructions));
  owned.push_back(std::make_unique<WindowSchedule>(*instructions));
  owned.push_back(std::make_unique<RandomSchedule>(*instructions));
  owned.push_back(std::make_unique<ScatterSchedule>(*instructions));
  owned.push_back(std::make_unique<UpdateSchedule>(*instructions));
  owned.push_back(std::make_unique<TopKSchedule>(*instructions));
  owned.push_back(std::make_unique<SortSchedule>(*instructions));
  owned.push_back(std::make_unique<PartsSchedule>(target));
  for (const auto &schedule : owned)
    all.push_back(schedule.get());
}

GpuSchedules::~GpuSchedules() = default;

llvm::StringRef GpuSchedules::nameOf(const Schedule *schedule) const {
  // All others are made for GPUs.
  return schedule == all.back()
             ? "parts"
             : static_cast<const GpuSchedule *>(schedule)->name();
}

} // namespace tenon::codegen
