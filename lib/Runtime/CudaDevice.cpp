//===- CudaDevice.cpp - One of NVIDIA's GPUs as a device ------------------===//
//
// See CudaDevice.h.
//
//===----------------------------------------------------------------------===//

#include "CudaDevice.h"

#include "CudaLibraries.h"
#include "CudaPipeline.h"
#include "CudaStep.h"

#include "tenon/Format/PinnedMemory.h"
#include "tenon/Format/Reader.h"
#include "tenon/Libraries/Stored.h"
#include "tenon/Support/Bytes.h"
#include "tenon/Target/GpuArchitectures.h"

#include <algorithm>
#include <array>
#include <cstring>

using namespace tenon;
using namespace tenon::runtime;

/// "12.8" of 12080.
static std::string cudaVersionText(unsigned version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

//===----------------------------------------------------------------------===//
// The GPU
//===----------------------------------------------------------------------===//

bool CudaContext::check(CUresult result, const std::string &what, Failure kind,
                        Error &error) const {
  return result == CUDA_SUCCESS ||
         refuse(error, kind,
                what + ": " + name + " reports: " + driver.textOf(result));
}

std::shared_ptr<CudaContext> CudaContext::open(const ExecutorOptions &options,
                                               Error &error) {
  std::shared_ptr<CudaContext> gpu(new CudaContext);
  auto fail = [&](const std::string &why) -> std::shared_ptr<CudaContext> {
    error = {Failure::machine, why};
    return nullptr;
  };
  std::string why;
  if (!gpu->driver.open(options.cudaDriver, why))
    return fail(
        "the file is compiled for GPUs, and there is no driver of NVIDIA's: " +
        why +
        "; install it, name its file (--cuda-driver, TENON_CUDA_DRIVER), or "
        "compile the step again with --target=cpu");
  const CudaDriverTable &driver = gpu->driver;
  int count = 0, version = 0;
  CUresult started = driver.cuInit(0);
  if (started == CUDA_SUCCESS)
    started = driver.cuDeviceGetCount(&count);
  if (started == CUDA_ERROR_NO_DEVICE ||
      (started == CUDA_SUCCESS && count == 0))
    return fail("the file is compiled for GPUs, and the driver finds none "
                "here; compile the step again with --target=cpu");
  if (started != CUDA_SUCCESS)
    return fail("the driver of NVIDIA's does not start: " +
                driver.textOf(started));
  const unsigned number = options.gpu.value_or(0);
  if (number >= unsigned(count))
    return fail(
        "there is no GPU " + std::to_string(number) + ", this machine has " +
        std::to_string(count) + ", numbered from 0" +
        (options.processes ? "; each rank has a GPU of its own, the one of its "
                             "number among the ranks of its machine unless "
                             "--device=cuda:N names another"
                           : ""));
  gpu->name = "GPU " + std::to_string(number);
  if (driver.isEmulated)
    gpu->emulatedDriver = options.cudaDriver;
  std::array<char, 256> name{};
  int major = 0, minor = 0;
  auto attribute = [&](CUdevice_attribute which, int &into) {
    return driver.cuDeviceGetAttribute(&into, which, gpu->device);
  };
  for (CUresult result :
       {driver.cuDriverGetVersion(&version),
        driver.cuDeviceGet(&gpu->device, int(number)),
        driver.cuDeviceGetName(name.data(), int(name.size()) - 1, gpu->device),
        attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, major),
        attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, minor),
        attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                  gpu->multiprocessors),
        driver.cuDevicePrimaryCtxRetain(&gpu->context, gpu->device),
        driver.cuCtxSetCurrent(gpu->context),
        driver.cuStreamCreate(&gpu->own, /*nonblocking=*/1)})
    if (!gpu->check(result, "the GPU cannot be used", Failure::machine, error))
      return nullptr;
  gpu->stream =
      options.cudaStream ? static_cast<CUstream>(options.cudaStream) : gpu->own;
  if (CUresult state = driver.cuStreamQuery(gpu->stream);
      state != CUDA_SUCCESS && state != CUDA_ERROR_NOT_READY) {
    gpu->check(state, "the stream that was given cannot be used",
               Failure::argument, error);
    return nullptr;
  }
  gpu->model = name.data();
  gpu->name += ", " + gpu->model;
  gpu->capability = unsigned(10 * major + minor);
  gpu->cuda = unsigned(version);
  return gpu;
}

CudaContext::~CudaContext() {
  if (!context)
    return;
  enter();
  if (own)
    driver.cuStreamDestroy_v2(own);
  driver.cuDevicePrimaryCtxRelease_v2(device);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {

/// Of the GPU, or of the host for what the GPU copies to and from.
class CudaMemory final : public DeviceMemory {
public:
  CudaMemory(std::shared_ptr<CudaContext> context, void *place, bool isPinned)
      : context(std::move(context)), place(place), isPinned(isPinned) {}
  CudaMemory(const CudaMemory &) = delete;
  CudaMemory &operator=(const CudaMemory &) = delete;
  ~CudaMemory() override {
    context->enter();
    if (!place)
      return;
    if (isPinned)
      context->driver.cuMemFreeHost(place);
    else
      context->driver.cuMemFree_v2(reinterpret_cast<CUdeviceptr>(place));
  }

  std::byte *data() const override { return static_cast<std::byte *>(place); }
  std::span<std::byte> bytes() const override { return {}; }
  std::span<std::byte> pages() const override { return {}; }
  // CUDA has no such memory.
  void makeReadOnly() override {}

private:
  std::shared_ptr<CudaContext> context;
  void *place;
  bool isPinned;
};

} // namespace

bool CudaDevice::isItsOwn(const format::MemorySpace &space) const {
  return !isPinned(space);
}

std::unique_ptr<DeviceMemory>
CudaDevice::allocate(const format::MemorySpace &space,
                     const format::Segment &segment, bool, std::string &error) {
  if (isPinned(space)) {
    void *pinned = nullptr;
    CUresult result = context->enter();
    if (result == CUDA_SUCCESS && segment.bytes > 0)
      result = context->driver.cuMemHostAlloc(&pinned, segment.bytes,
                                              /*flags=*/0);
    return result == CUDA_SUCCESS
               ? std::make_unique<CudaMemory>(context, pinned,
                                              /*isPinned=*/true)
               : refuse(error, "cannot pin " + std::to_string(segment.bytes) +
                                   " bytes of the host's memory: " +
                                   context->driver.textOf(result));
  }
  CUdeviceptr address = 0;
  CUresult result = context->enter();
  if (result == CUDA_SUCCESS && segment.bytes > 0)
    result = context->driver.cuMemAlloc_v2(&address, segment.bytes);
  auto memory = std::make_unique<CudaMemory>(
      context, reinterpret_cast<void *>(address), /*isPinned=*/false);
  // Temporaries are written before they are read.
  if (result == CUDA_SUCCESS && segment.bytes > 0 &&
      segment.kind != format::SegmentKind::temporaries)
    result = context->finish(context->driver.cuMemsetD8Async(
        address, 0, segment.bytes, context->stream));
  if (result != CUDA_SUCCESS)
    return refuse(error, "cannot allocate " + std::to_string(segment.bytes) +
                             " bytes: " + context->driver.textOf(result));
  return memory;
}

bool CudaDevice::copyIn(void *to, const void *from, uint64_t bytes,
                        Error &error) {
  if (bytes == 0)
    return true;
  CUresult result = context->enter();
  if (result == CUDA_SUCCESS)
    result = context->finish(context->driver.cuMemcpyHtoDAsync_v2(
        reinterpret_cast<CUdeviceptr>(to), from, bytes, context->stream));
  return context->check(result, "a copy to the GPU failed", Failure::run,
                        error);
}

bool CudaDevice::copyOut(void *to, const void *from, uint64_t bytes,
                         Error &error) {
  if (bytes == 0)
    return true;
  CUresult result = context->enter();
  if (result == CUDA_SUCCESS)
    result = context->finish(context->driver.cuMemcpyDtoHAsync_v2(
        to, reinterpret_cast<CUdeviceptr>(from), bytes, context->stream));
  return context->check(result, "a copy from the GPU failed", Failure::run,
                        error);
}

std::string CudaDevice::whyNotMemory(const void *place, uint64_t bytes) const {
  const auto address = reinterpret_cast<CUdeviceptr>(place);
  auto get = [&](CUpointer_attribute attribute, auto &value) {
    return context->driver.cuPointerGetAttribute(&value, attribute, address) ==
           CUDA_SUCCESS;
  };
  unsigned type = 0;
  int gpu = -1;
  CUdeviceptr begin = 0;
  size_t size = 0;
  if (context->enter() != CUDA_SUCCESS ||
      !get(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, type) ||
      type != CU_MEMORYTYPE_DEVICE ||
      !get(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, gpu))
    return "there is no memory of a GPU at the address";
  if (gpu != context->device)
    return "it is memory of GPU " + std::to_string(gpu) +
           ", the program runs on " + context->name;
  if (get(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, begin) &&
      get(CU_POINTER_ATTRIBUTE_RANGE_SIZE, size) &&
      bytes > begin + size - address)
    return "the memory ends after " + std::to_string(begin + size - address) +
           " bytes, the tensor has " + std::to_string(bytes);
  return "";
}

bool CudaDevice::copyWithin(void *to, const void *from, uint64_t bytes,
                            Error &error) {
  if (bytes == 0)
    return true;
  CUresult result = context->enter();
  if (result == CUDA_SUCCESS)
    result = context->driver.cuMemcpyDtoDAsync_v2(
        reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(from),
        bytes, context->stream);
  // Whoever gave the stream knows what comes behind the copy.
  if (context->stream == context->own)
    result = context->finish(result);
  return context->check(result, "a copy within the GPU failed", Failure::run,
                        error);
}

AvailableMemory CudaDevice::availableMemory() const {
  size_t free = 0, total = 0;
  if (context->enter() != CUDA_SUCCESS ||
      context->driver.cuMemGetInfo_v2(&free, &total) != CUDA_SUCCESS)
    return {};
  return {free, "on " + context->name + ", in which the largest block of " +
                    printBytes(int64_t(largestSegment)) +
                    " has to be in one piece"};
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// "sm_80, sm_90".
static std::string architecturesOf(const format::Index &index) {
  std::string names;
  for (const format::GpuModule &module : index.gpuModules)
    names += (names.empty() ? "" : ", ") + module.architecture;
  return names;
}

/// Of both the highest architecture that is not above the GPU's. Machine code
/// runs on its own major compute capability only; whether the driver takes it
/// is seen when it gets it. Of PTX it is known.
std::optional<CudaDevice::Choice> CudaDevice::choose(const format::Index &index,
                                                     const CudaContext &gpu,
                                                     Error &error) {
  const std::vector<format::GpuModule> &modules = index.gpuModules;
  Choice found;
  const format::GpuModule *tooNew = nullptr; // for the driver
  auto prefer = [&](std::optional<size_t> &best, size_t module) {
    if (!best || modules[module].capability > modules[*best].capability)
      best = module;
  };
  for (size_t i = 0; i < modules.size(); ++i) {
    if (modules[i].capability > gpu.capability)
      continue;
    if (modules[i].hasBinary() &&
        modules[i].capability / 10 == gpu.capability / 10)
      prefer(found.binary, i);
    if (modules[i].cuda > gpu.cuda)
      tooNew = &modules[i];
    else
      prefer(found.text, i);
  }
  if (found.binary || found.text)
    return found;
  if (tooNew) {
    error = {Failure::machine,
             "the file's code for " + tooNew->architecture + " needs driver " +
                 std::to_string(tooNew->driver) + " or later (CUDA " +
                 cudaVersionText(tooNew->cuda) + "), the one here has CUDA " +
                 cudaVersionText(gpu.cuda) + "; install a newer driver"};
    return std::nullopt;
  }
  // The latest that can be compiled for it.
  const target::GpuArchitecture *fitting = nullptr;
  for (const target::GpuArchitecture &one : target::gpuArchitectures())
    if (one.capability() <= gpu.capability)
      fitting = &one;
  error = {Failure::unsupported,
           "the file holds code for " + architecturesOf(index) + ", " +
               gpu.name + " is sm_" + std::to_string(gpu.capability) +
               ", and code runs on its own architecture and on later ones; " +
               (fitting ? "compile the step again with --target=" +
                              std::string(fitting->name)
                        : "that GPU is older than all that steps are compiled "
                          "for")};
  return std::nullopt;
}

std::unique_ptr<Device> CudaDevice::create(const format::Index &index,
                                           const ExecutorOptions &options,
                                           Communicator *communicator,
                                           Error &error) {
  for (const format::MemorySpace &space : index.memorySpaces)
    if (space.name != "device" && !isPinned(space))
      return refuse(error, Failure::machine,
                    "the file keeps memory in space '" + space.name +
                        "', a GPU has only 'device', and 'pinned' of its host");
  auto context = CudaContext::open(options, error);
  if (!context)
    return nullptr;
  auto choice = choose(index, *context, error);
  if (!choice)
    return nullptr;
  uint64_t largest = 0;
  for (const format::Segment &segment : index.segments)
    if (!format::isPinned(index, segment))
      largest = std::max(largest, segment.bytes);
  std::unique_ptr<CudaDevice> device(
      new CudaDevice(context, *choice, largest, options, communicator));
  if (communicator)
    device->callees.exchange = std::make_unique<CudaCollectives>(
        context, *communicator, index.ranks(), options.nccl);
  return device;
}

CudaDevice::~CudaDevice() {
  context->enter();
  if (module)
    context->driver.cuModuleUnload(module);
}

static bool refuseAsDamaged(const std::string &why, Error &error) {
  return refuse(error, Failure::file, "the file is damaged: " + why);
}

bool CudaDevice::loadModule(const format::Reader &reader, uint32_t number,
                            format::SectionKind kind,
                            const std::string &architecture, Error &error) {
  const format::Index &index = reader.index();
  if (number >= index.sections.size() || index.sections[number].kind != kind)
    return refuseAsDamaged("the code for " + architecture + " is not there",
                           error);
  const format::Section &section = index.sections[number];
  std::vector<std::byte> code(section.bytes + 1); // PTX ends in a zero
  if (!reader.readSection(section, {code.data(), section.bytes}, error.message))
    return refuse(error, Failure::file, error.message);
  const CudaDriverTable &driver = context->driver;
  std::array<char, 8192> log{};
  std::array options = {CU_JIT_ERROR_LOG_BUFFER,
                        CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void *, 2> values = {
      log.data(), reinterpret_cast<void *>(uintptr_t(log.size() - 1))};
  CUresult loaded = context->enter();
  // A step of copies alone has no kernels.
  if (loaded == CUDA_SUCCESS && section.bytes > 0)
    loaded = driver.cuModuleLoadDataEx(&module, code.data(),
                                       unsigned(options.size()), options.data(),
                                       values.data());
  return context->check(
      loaded,
      "the kernels for " + architecture + " do not load" +
          (log[0] ? " (" + std::string(log.data()) + ")" : ""),
      Failure::machine, error);
}

bool CudaDevice::loadCallees(const format::Reader &reader, Error &error) {
  const format::Index &index = reader.index();
  const auto &modules = index.gpuModules;
  std::optional<size_t> chosen = choice.binary;
  if (chosen) {
    const format::GpuModule &each = modules[*chosen];
    if (!loadModule(reader, uint32_t(each.binary), format::SectionKind::cubin,
                    each.architecture, error)) {
      // A driver may be older than the assembler: it compiles the PTX.
      if (error.kind != Failure::machine || !choice.text)
        return false;
      refusedBinary = "the driver did not take the machine code for " +
                      each.architecture + " by ptxas " + each.assembler +
                      " and compiled the kernels anew: " + error.message;
      error = {};
      chosen.reset();
    }
  }
  if (!chosen) {
    chosen = choice.text;
    const format::GpuModule &each = modules[*chosen];
    if (!loadModule(reader, each.section, format::SectionKind::ptx,
                    each.architecture, error))
      return false;
  }
  const format::GpuModule &described = modules[*chosen];
  const CudaDriverTable &driver = context->driver;
  callees.described = index.callees;
  for (const format::Segment &segment : index.segments)
    callees.segmentsOnHost.push_back(format::isPinned(index, segment));
  auto damaged = [&](const std::string &why) {
    return refuseAsDamaged(why, error);
  };
  size_t launch = 0;
  CudaLibraries libraries(context, options, communicator, index.ranks());
  callees.hostCalls =
      std::make_unique<CudaHostCalls>(context, index.subnormals);
  for (const format::Callee &callee : callees.described) {
    auto &collective = callees.collectives.emplace_back();
    if (callee.kind == format::CalleeKind::collective) {
      std::string why;
      collective = libraries::restoreCollective(callee, index.ranks(), why);
      if (!collective || !callees.exchange)
        return damaged(collective ? "it has collectives and is for one rank"
                                  : why);
      auto reducer = libraries::reducerNamed(callee.library);
      if (!reducer || *reducer == libraries::Reducer::mpi ||
          !libraries::whyInvalid(*collective, *reducer).empty())
        return damaged("ranks on GPUs do not carry out the collective " +
                       callee.description);
      if (!callees.exchange->prepare(*collective, *reducer, error))
        return false;
    }
    CudaCallees::Kernel &kernel = callees.kernels.emplace_back();
    CudaCallees::Call &call = callees.calls.emplace_back();
    if (callee.kind == format::CalleeKind::library && callee.onHost)
      call.onHost =
          callees.hostCalls->add(callee, callees.calls.size() - 1, error);
    if (callee.kind == format::CalleeKind::library &&
        !(callee.onHost ? call.onHost != nullptr
                        : libraries.make(callee, call, error)))
      return false;
    if (callee.kind != format::CalleeKind::kernel)
      continue;
    kernel.launch = described.launches[launch++];
    if (driver.cuModuleGetFunction(&kernel.function, module,
                                   callee.name.c_str()) != CUDA_SUCCESS)
      return damaged("there is no '" + callee.name + "' in the code for " +
                     described.architecture);
  }
  choices = libraries.choices();
  return callees.hostCalls->allocate(error);
}

std::unique_ptr<Capture> CudaDevice::beginCapture() {
  return std::make_unique<CudaCapture>(context, callees);
}

std::unique_ptr<StepPipeline> CudaDevice::newPipeline(Error &error) {
  return CudaPipeline::create(context, callees, error);
}
