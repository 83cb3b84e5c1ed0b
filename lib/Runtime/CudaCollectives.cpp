//===- CudaCollectives.cpp - What ranks on GPUs exchange ------------------===//
//
// See CudaCollectives.h.
//
//===----------------------------------------------------------------------===//

#include "CudaCollectives.h"

#include "CudaDevice.h"

#include "tenon/Support/Refuse.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>

using namespace tenon;
using namespace tenon::runtime;
using libraries::CollectiveDescription;
using libraries::CollectiveKind;
using libraries::Participant;

CudaCollectives::CudaCollectives(std::shared_ptr<CudaContext> gpu,
                                 Communicator &ranks, int64_t count,
                                 std::string file)
    : context(std::move(gpu)), ranks(ranks), count(count),
      file(std::move(file)) {
  ranks.whenLost([this](const std::string &loss) { return abort(loss); });
}

/// What was started has ended: a run waits for its end, and after a failure
/// nothing else is started. So no rank has to be waited for.
CudaCollectives::~CudaCollectives() {
  ranks.whenLost(nullptr);
  context->enter();
  if (!isAborted)
    for (const Group &group : groups)
      if (group.communicator)
        nccl->ncclCommAbort(group.communicator);
}

/// Where the emulated library lies if the driver is the emulated one.
static std::string usualFile(const std::string &emulatedDriver) {
  return emulatedDriver.empty()
             ? "libnccl.so.2"
             : (std::filesystem::path(emulatedDriver).parent_path() /
                "libtenon-emulated-nccl.so")
                   .string();
}

bool CudaCollectives::open(Error &error) {
  if (nccl)
    return true;
  if (file.empty())
    file = usualFile(context->emulatedDriver);
  auto table = std::make_unique<NcclTable>();
  std::string why;
  if (!table->open(file, why))
    return refuse(error, Failure::machine,
                  "ranks on GPUs exchange tensors through NCCL 2, which cannot "
                  "be called here: " +
                      why +
                      "; install it (the package nvidia-nccl-cu13 has it), or "
                      "name its file (--nccl, TENON_NCCL)");
  nccl = std::move(table);
  return true;
}

/// All ranks, as one group: those of a permutation.
static std::vector<Participant> allOf(int64_t count) {
  std::vector<Participant> all;
  for (int64_t rank = 0; rank < count; ++rank)
    all.push_back({rank});
  return all;
}

const CudaCollectives::Group &
CudaCollectives::groupOf(const CollectiveDescription &d) const {
  const bool isPermute = d.kind == CollectiveKind::collectivePermute;
  const int64_t size = isPermute ? count : d.groupSize;
  const auto division = isPermute ? allOf(count) : d.groups;
  return *std::ranges::find_if(groups, [&](const Group &group) {
    return group.size == size && group.division == division;
  });
}

bool CudaCollectives::prepare(const CollectiveDescription &d,
                              libraries::Reducer reducer, Error &error) {
  if (d.kind == CollectiveKind::partitionId)
    return true;
  const bool isCombined = d.combination != libraries::Combination::none;
  if ((isCombined && reducer != libraries::Reducer::nccl) || d.outer > 1)
    return refuse(error, Failure::file,
                  "the file is damaged: ranks on GPUs do not carry out the "
                  "collective " +
                      libraries::describe(d));
  if (!open(error))
    return false;
  const bool isPermute = d.kind == CollectiveKind::collectivePermute;
  Group made;
  made.division = isPermute ? allOf(count) : d.groups;
  made.size = isPermute ? count : d.groupSize;
  for (const Group &group : groups)
    if (group.size == made.size && group.division == made.division)
      return true;
  return meet(made, error);
}

bool CudaCollectives::meet(Group &group, Error &error) {
  for (size_t i = 0; i < group.division.size(); ++i)
    if (group.division[i].rank == ranks.rank()) {
      const size_t begin = i - i % size_t(group.size);
      for (size_t j = begin; j < begin + size_t(group.size); ++j)
        group.members.push_back(group.division[j].rank);
    }
  auto refused = [&](const std::string &why) {
    return refuse(error, Failure::machine, "ranks on GPUs cannot meet: " + why);
  };
  ncclUniqueId id{};
  ncclResult_t result = ncclSuccess;
  const bool isFirst = group.members.front() == ranks.rank();
  if (isFirst)
    result = nccl->ncclGetUniqueId(&id);
  if (result != ncclSuccess)
    return refused("NCCL reports: " + nccl->textOf(result));
  ranks.await("the start of NCCL");
  std::vector<OutgoingMessage> outgoing;
  std::vector<IncomingMessage> incoming;
  const std::span<ncclUniqueId> one(&id, 1);
  for (int64_t member : group.members)
    if (isFirst && member != ranks.rank())
      outgoing.push_back({member, std::as_bytes(one)});
  if (!isFirst)
    incoming.push_back({group.members.front(), std::as_writable_bytes(one)});
  if (!ranks.exchange(outgoing, incoming))
    return refuse(error, Failure::run, ranks.whyEnded());
  std::lock_guard lock(access);
  if (isAborted)
    return refused(why);
  const auto place = std::ranges::find(group.members, ranks.rank());
  context->enter();
  result = nccl->ncclCommInitRank(&group.communicator, int(group.size), id,
                                  int(place - group.members.begin()));
  if (result != ncclSuccess)
    return refused("NCCL reports: " + nccl->textOf(result));
  groups.push_back(std::move(group));
  return true;
}

/// The type of NCCL's that has the elements, or their bytes.
static std::pair<ncclDataType_t, int64_t> typeOf(ElementType type) {
  switch (type) {
  case ElementType::i8:
    return {ncclInt8, 1};
  case ElementType::i32:
    return {ncclInt32, 1};
  case ElementType::ui32:
    return {ncclUint32, 1};
  case ElementType::i64:
    return {ncclInt64, 1};
  case ElementType::ui64:
    return {ncclUint64, 1};
  case ElementType::f16:
    return {ncclFloat16, 1};
  case ElementType::bf16:
    return {ncclBfloat16, 1};
  case ElementType::f32:
    return {ncclFloat32, 1};
  case ElementType::f64:
    return {ncclFloat64, 1};
  default:
    return {ncclUint8, byteWidth(type)};
  }
}

static ncclRedOp_t operationOf(libraries::Combination combination) {
  using libraries::Combination;
  return combination == Combination::sum       ? ncclSum
         : combination == Combination::maximum ? ncclMax
                                               : ncclMin;
}

ncclResult_t CudaCollectives::permute(const CollectiveDescription &d,
                                      const std::byte *from, std::byte *to,
                                      ncclComm_t all, CUstream stream) {
  auto [type, width] = typeOf(d.type);
  const auto elements = size_t(d.piece * width);
  const int64_t own = ranks.rank();
  bool receives = false;
  for (size_t i = 1; i < d.groups.size(); i += 2)
    receives |= d.groups[i].rank == own;
  if (!receives)
    failed = context->driver.cuMemsetD8Async(
        reinterpret_cast<CUdeviceptr>(to), 0, size_t(libraries::resultBytes(d)),
        stream);
  ncclResult_t result = nccl->ncclGroupStart();
  for (size_t i = 0; i + 1 < d.groups.size(); i += 2) {
    const int64_t source = d.groups[i].rank, target = d.groups[i + 1].rank;
    if (source == own && result == ncclSuccess)
      result = nccl->ncclSend(from, elements, type, int(target), all, stream);
    if (target == own && result == ncclSuccess)
      result = nccl->ncclRecv(to, elements, type, int(source), all, stream);
  }
  const ncclResult_t ended = nccl->ncclGroupEnd();
  return result == ncclSuccess ? ended : result;
}

ncclResult_t CudaCollectives::start(const CollectiveDescription &d,
                                    std::span<const CUdeviceptr> arguments,
                                    CUstream stream) {
  const auto *from = reinterpret_cast<const std::byte *>(arguments[0]);
  auto *to = reinterpret_cast<std::byte *>(arguments[1]);
  const Group &group = groupOf(d);
  auto [type, width] = typeOf(d.type);
  const auto elements = size_t(d.piece * width);
  if (d.kind == CollectiveKind::allGather)
    return nccl->ncclAllGather(from, to, elements, type, group.communicator,
                               stream);
  if (d.kind == CollectiveKind::allReduce)
    return nccl->ncclAllReduce(from, to, elements, type,
                               operationOf(d.combination), group.communicator,
                               stream);
  if (d.kind == CollectiveKind::reduceScatter)
    return nccl->ncclReduceScatter(from, to, elements, type,
                                   operationOf(d.combination),
                                   group.communicator, stream);
  if (d.kind == CollectiveKind::collectivePermute)
    return permute(d, from, to, group.communicator, stream);
  const int64_t bytes = d.piece * byteWidth(d.type);
  ncclResult_t result = nccl->ncclGroupStart();
  for (int64_t member = 0; member < group.size && result == ncclSuccess;
       ++member) {
    result = nccl->ncclSend(from + member * bytes, elements, type, int(member),
                            group.communicator, stream);
    if (result == ncclSuccess)
      result = nccl->ncclRecv(to + member * bytes, elements, type, int(member),
                              group.communicator, stream);
  }
  const ncclResult_t ended = nccl->ncclGroupEnd();
  return result == ncclSuccess ? ended : result;
}

std::string CudaCollectives::enqueue(const CollectiveDescription &d,
                                     std::span<const CUdeviceptr> arguments,
                                     CUstream stream) {
  failed = CUDA_SUCCESS;
  ncclResult_t result = ncclSuccess;
  if (d.kind == CollectiveKind::partitionId) {
    failed = context->driver.cuMemsetD32Async(
        arguments[0], unsigned(ranks.rank()), /*count=*/1, stream);
  } else {
    std::lock_guard lock(access);
    if (isAborted)
      return why;
    result = start(d, arguments, stream);
  }
  if (result != ncclSuccess)
    return "NCCL reports: " + nccl->textOf(result);
  return failed == CUDA_SUCCESS
             ? ""
             : context->name + " reports: " + context->driver.textOf(failed);
}

bool CudaCollectives::abort(const std::string &loss) {
  std::unique_lock lock(access, std::chrono::seconds(1));
  if (!lock.owns_lock())
    return false;
  if (isAborted)
    return true;
  isAborted = true;
  why =
      "rank " + std::to_string(ranks.rank()) + " waits in vain, since " + loss;
  for (const Group &group : groups)
    if (group.communicator)
      nccl->ncclCommAbort(group.communicator);
  return true;
}

std::string CudaCollectives::whyEnded() {
  std::lock_guard lock(access);
  if (isAborted)
    return why;
  for (const Group &group : groups) {
    ncclResult_t result = ncclSuccess;
    nccl->ncclCommGetAsyncError(group.communicator, &result);
    if (result != ncclSuccess && result != ncclInProgress)
      return "NCCL reports: " + nccl->textOf(result);
  }
  return "";
}
