//===- Driver.cpp - The functions of the driver, graphs apart -------------===//
//
// Work runs when it is given, in that order. What it does wrong is told as CUDA
// tells it: not by the call that launched, but by the next one that waits, and
// from then on by all.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace tenon::emulated;

Driver &Driver::instance() {
  static Driver driver;
  return driver;
}

uint32_t Driver::nextGeneration() {
  if (++generation == generationLimit) {
    for (Region *region : memory->regions())
      region->shadow = decltype(region->shadow)(region->shadow.size());
    generation = 1;
  }
  return generation;
}

void Driver::setFault(const Fault &found) {
  fprintf(stderr, "emulated CUDA: %s\n", found.text.c_str());
  if (!fault)
    fault = std::make_unique<Fault>(found);
}

CUresult Driver::error(CUresult code, const std::string &text) {
  fprintf(stderr, "emulated CUDA: %s\n", text.c_str());
  if (!fault)
    lastRefusal = text;
  return code;
}

CUresult Driver::prepare(KernelWork &work, void **parameters, void **extra) {
  if (!work.function || extra)
    return error(CUDA_ERROR_INVALID_VALUE,
                 "a launch needs a function and takes no `extra`");
  const Function &function = *work.function->function;
  const std::string who = "kernel '" + function.name + "': ";
  uint64_t threads =
      uint64_t(work.threads[0]) * work.threads[1] * work.threads[2];
  if (!threads || threads > 1024 || work.threads[2] > 64)
    return error(CUDA_ERROR_INVALID_VALUE,
                 who + std::to_string(threads) +
                     " threads in a block, expected 1 to 1024");
  if (!work.extent[0] || !work.extent[1] || !work.extent[2] ||
      work.extent[1] > 65535 || work.extent[2] > 65535)
    return error(CUDA_ERROR_INVALID_VALUE,
                 who + "extents of the grid out of range");
  for (int i = 0; i < 3; ++i)
    if (function.requiredThreads[0] &&
        work.threads[i] != function.requiredThreads[i])
      return error(
          CUDA_ERROR_INVALID_VALUE,
          who + "launched with other extents of a block than its .reqntid");
  if (function.mostThreads[0] && threads > uint64_t(function.mostThreads[0]) *
                                               function.mostThreads[1] *
                                               function.mostThreads[2])
    return error(CUDA_ERROR_INVALID_VALUE,
                 who + "more threads than its .maxntid");
  if (work.dynamicSharedBytes > work.function->mostDynamicShared)
    return error(CUDA_ERROR_INVALID_VALUE,
                 who + std::to_string(work.dynamicSharedBytes) +
                     " bytes of dynamic shared memory, allowed are " +
                     std::to_string(work.function->mostDynamicShared));
  work.parameters.resize(function.parameterBytes);
  if (!parameters && !function.parameters.empty())
    return error(CUDA_ERROR_INVALID_VALUE, who + "launched without parameters");
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    if (!parameters[i])
      return error(CUDA_ERROR_INVALID_VALUE,
                   who + "parameter " + std::to_string(i) + " is null");
    memcpy(&work.parameters[function.parameters[i].offset], parameters[i],
           function.parameters[i].bytes);
  }
  return CUDA_SUCCESS;
}

void Driver::execute(const KernelWork &work) {
  Grid grid;
  grid.function = work.function->function;
  grid.program = work.function->program;
  grid.memory = memory.get();
  grid.settings = &settings;
  grid.counters = &work.function->counters;
  std::copy(work.extent, work.extent + 3, grid.extent);
  std::copy(work.threads, work.threads + 3, grid.threads);
  grid.dynamicSharedBytes = work.dynamicSharedBytes;
  grid.parameters = work.parameters;
  grid.generation = nextGeneration();
  grid.run();
}

void Driver::execute(const CopyWork &work) {
  auto side = [&](uint64_t address, bool isDevice,
                  const char *does) -> Region * {
    Region *region = memory->find(address);
    if (region ? !region->contains(address, work.bytes) : isDevice)
      throw Fault{CUDA_ERROR_ILLEGAL_ADDRESS,
                  "a copy of " + std::to_string(work.bytes) + " bytes " + does +
                      " out of bounds: at " +
                      (region
                           ? "byte " + std::to_string(address - region->begin) +
                                 " of an allocation of " +
                                 std::to_string(region->bytes) + " bytes"
                           : memory->describe(address))};
    return region;
  };
  if (!work.bytes)
    return;
  Region *from = side(work.from, work.fromDevice, "reads");
  Region *to = side(work.to, work.toDevice, "writes");
  if (from && from->footprint)
    from->markFootprint(work.from - from->begin, work.bytes, true, false);
  if (to && to->footprint)
    to->markFootprint(work.to - to->begin, work.bytes, false, true);
  memmove(reinterpret_cast<void *>(work.to),
          reinterpret_cast<void *>(work.from), work.bytes);
  if (to && from)
    to->copyWritten(work.to - to->begin, *from, work.from - from->begin,
                    work.bytes);
  else if (to)
    to->setWritten(work.to - to->begin, work.bytes, true);
}

void Driver::execute(const FillWork &work) {
  uint64_t bytes = work.count * work.elementBytes;
  if (!bytes)
    return;
  Region *to = memory->find(work.to);
  if (!to || !to->contains(work.to, bytes))
    throw Fault{CUDA_ERROR_ILLEGAL_ADDRESS,
                "a fill of " + std::to_string(bytes) +
                    " bytes is out of bounds: at " + memory->describe(work.to)};
  if (work.to % work.elementBytes)
    throw Fault{CUDA_ERROR_MISALIGNED_ADDRESS,
                "a fill of elements is misaligned"};
  for (uint64_t i = 0; i < work.count; ++i)
    memcpy(reinterpret_cast<uint8_t *>(work.to) + i * work.elementBytes,
           &work.value, work.elementBytes);
  if (to->footprint)
    to->markFootprint(work.to - to->begin, bytes, false, true);
  to->setWritten(work.to - to->begin, bytes, true);
}

void Driver::execute(const HostWork &work) {
  inHostFunction = true;
  work.function(work.data);
  inHostFunction = false;
}

void Driver::execute(const std::shared_ptr<const LibraryWork> &work) {
  std::vector<void *> bytes;
  std::vector<Region *> regions;
  for (const TenonEmulatedAccess &each : work->accesses) {
    Region *region = memory->find(each.address);
    const std::string what =
        work->name + (each.isWritten ? " writes " : " reads ") +
        std::to_string(each.bytes) + " bytes at " +
        (region ? "byte " + std::to_string(each.address - region->begin) +
                      " of an allocation of " + std::to_string(region->bytes) +
                      " bytes"
                : memory->describe(each.address));
    if (!region || !region->contains(each.address, each.bytes))
      throw Fault{CUDA_ERROR_ILLEGAL_ADDRESS, "out of bounds: " + what};
    const uint64_t offset = each.address - region->begin;
    if (!each.isWritten && !region->isWritten(offset, each.bytes))
      throw Fault{CUDA_ERROR_LAUNCH_FAILED,
                  "uninitialised: " + what +
                      ", some of which were never written"};
    if (region->footprint)
      region->markFootprint(offset, each.bytes, !each.isWritten,
                            each.isWritten);
    bytes.push_back(region->data + offset);
    regions.push_back(region);
  }
  if (const char *text = work->run(work->data.get(), bytes.data()))
    throw Fault{CUDA_ERROR_LAUNCH_FAILED, text};
  for (size_t i = 0; i < regions.size(); ++i)
    if (const TenonEmulatedAccess &each = work->accesses[i]; each.isWritten)
      regions[i]->setWritten(each.address - regions[i]->begin, each.bytes,
                             true);
}

#pragma GCC visibility push(default)

namespace {

CUresult synchronize(Driver &driver) {
  driver.finishAll();
  if (!driver.fault)
    return CUDA_SUCCESS;
  driver.reported = true;
  return driver.fault->code;
}

uint64_t placeVariable(void *context, const Variable &variable) {
  auto &driver = *static_cast<Driver *>(context);
  Region *region = driver.memory->allocate(
      std::max<uint64_t>(variable.bytes, 1),
      variable.space == Space::Constant ? Region::Constant : Region::Device);
  if (!region)
    throw Fault{CUDA_ERROR_OUT_OF_MEMORY,
                "no memory for variable '" + variable.name + "'"};
  // Variables without a value are zero, as in C.
  memset(region->data, 0, variable.bytes);
  std::copy(variable.initial.begin(), variable.initial.end(), region->data);
  region->setWritten(0, variable.bytes, true);
  return region->begin;
}

uint32_t sharedLimit(unsigned target) {
  switch (target) {
  case 80:
    return 163 * 1024;
  case 86:
  case 89:
  case 120:
    return 99 * 1024;
  default:
    return 227 * 1024;
  }
}

struct ErrorText {
  CUresult code;
  const char *name, *text;
};
#define ERROR_TEXT(NAME, TEXT)                                                 \
  { NAME, #NAME, TEXT }
const ErrorText errorTexts[] = {
    ERROR_TEXT(CUDA_SUCCESS, "no error"),
    ERROR_TEXT(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    ERROR_TEXT(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    ERROR_TEXT(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    ERROR_TEXT(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    ERROR_TEXT(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    ERROR_TEXT(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    ERROR_TEXT(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    ERROR_TEXT(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    ERROR_TEXT(CUDA_ERROR_NO_BINARY_FOR_GPU,
               "no kernel image is available for the device"),
    ERROR_TEXT(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
    ERROR_TEXT(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
               "the PTX version is not supported"),
    ERROR_TEXT(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    ERROR_TEXT(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    ERROR_TEXT(CUDA_ERROR_NOT_READY, "device not ready"),
    ERROR_TEXT(CUDA_ERROR_ILLEGAL_ADDRESS,
               "an illegal memory access was encountered"),
    ERROR_TEXT(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
               "too many resources requested for launch"),
    ERROR_TEXT(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
               "host memory is registered already"),
    ERROR_TEXT(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
               "host memory is not registered"),
    ERROR_TEXT(CUDA_ERROR_ILLEGAL_INSTRUCTION,
               "an illegal instruction was encountered"),
    ERROR_TEXT(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    ERROR_TEXT(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    ERROR_TEXT(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    ERROR_TEXT(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    ERROR_TEXT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
               "operation not permitted when stream is capturing"),
};

struct Symbol {
  const char *name;
  void *function;
};
#define SYMBOL(NAME, PARAMETERS) {#NAME, reinterpret_cast<void *>(&NAME)},
const Symbol symbols[] = {TENON_CUDA_DRIVER_FUNCTIONS(SYMBOL)};
#undef SYMBOL

} // namespace

// --- Start, device, context.

CUresult cuInit(unsigned flags) {
  Call call;
  Driver &driver = call.driver;
  if (flags)
    return CUDA_ERROR_INVALID_VALUE;
  if (driver.initialised)
    return CUDA_SUCCESS;
  if (!__builtin_cpu_supports("x86-64-v3"))
    return driver.error(CUDA_ERROR_NO_DEVICE,
                        "the emulated GPU needs a processor with AVX2 and FMA");
  driver.settings = Settings::fromEnvironment();
  const unsigned targets[] = {80, 86, 89, 90, 100, 120};
  if (std::find(std::begin(targets), std::end(targets),
                driver.settings.target) == std::end(targets)) {
    driver.error(CUDA_ERROR_NO_DEVICE,
                 "TENON_EMULATED_CUDA_SM is " +
                     std::to_string(driver.settings.target) +
                     ", expected 80, 86, 89, 90, 100 or 120");
    return CUDA_ERROR_NO_DEVICE;
  }
  driver.memory = std::make_unique<DeviceMemory>(driver.settings.memoryBytes);
  driver.initialised = true;
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
  *version = 13000;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **text) {
  for (const ErrorText &line : errorTexts)
    if (line.code == error) {
      *text = line.name;
      return CUDA_SUCCESS;
    }
  *text = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  for (const ErrorText &line : errorTexts)
    if (line.code == error) {
      *text = line.text;
      return CUDA_SUCCESS;
    }
  *text = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int, uint64_t,
                             int *status) {
  // A name without a version stands for the newest.
  for (const char *suffix : {"_v2", ""})
    for (const Symbol &candidate : symbols)
      if (candidate.name == std::string(symbol) + suffix) {
        *function = candidate.function;
        if (status)
          *status = 0;
        return CUDA_SUCCESS;
      }
  *function = nullptr;
  if (status)
    *status = 1;
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  BEGIN_CALL;
  *device = ordinal;
  return ordinal < 0 || ordinal >= driver.settings.gpus
             ? CUDA_ERROR_INVALID_DEVICE
             : CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  BEGIN_CALL;
  *count = driver.settings.gpus;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice) {
  BEGIN_CALL;
  snprintf(name, length, "Tenon emulated sm_%u", driver.settings.target);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                              CUdevice) {
  BEGIN_CALL;
  const int target = driver.settings.target;
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
    *value = 1024;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
    *value = 64;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
    *value = 0x7FFFFFFF;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
    *value = 65535;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
    *value = 48 * 1024;
    break;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    *value = laneCount;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    *value = 65536;
    break;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = 132;
    break;
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    *value = 1;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = target / 10;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = target % 10;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
    *value = sharedLimit(target) + 1024;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    *value = sharedLimit(target);
    break;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice) {
  BEGIN_CALL;
  *bytes = driver.settings.memoryBytes;
  return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice) {
  BEGIN_CALL;
  *major = driver.settings.target / 10;
  *minor = driver.settings.target % 10;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  BEGIN_CALL;
  if (device < 0 || device >= driver.settings.gpus)
    return CUDA_ERROR_INVALID_DEVICE;
  if (driver.retained && device != driver.device)
    return driver.error(CUDA_ERROR_INVALID_DEVICE,
                        "a process that uses two GPUs");
  driver.device = device;
  ++driver.retained;
  *context = &driver.context;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) {
  Call call;
  if (!call.driver.retained)
    return CUDA_ERROR_INVALID_CONTEXT;
  --call.driver.retained;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  BEGIN_CALL;
  if (context && context != &driver.context)
    return CUDA_ERROR_INVALID_CONTEXT;
  driver.current = context;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  BEGIN_CALL;
  *context = driver.current;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
  BEGIN_CALL;
  return synchronize(driver);
}

// --- Modules and functions.

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image,
                            unsigned optionCount, CUjit_option *options,
                            void **values) {
  BEGIN_CALL;
  auto loaded = std::make_unique<CUmod_st>();
  auto writeLog = [&](const std::string &text) {
    char *log = nullptr;
    size_t bytes = 0;
    for (unsigned i = 0; i < optionCount; ++i) {
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
        log = static_cast<char *>(values[i]);
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
        bytes = reinterpret_cast<uintptr_t>(values[i]);
    }
    if (log && bytes)
      snprintf(log, bytes, "%s", text.c_str());
  };
  auto refuse = [&](CUresult code, const std::string &text) {
    writeLog(text);
    return driver.error(code, text);
  };
  const char *text = static_cast<const char *>(image);
  if (!text)
    return refuse(CUDA_ERROR_INVALID_VALUE, "there is no code to load");
  if (memcmp(text, "\177ELF", 4) == 0) {
    // As a driver does that is older than the code. Whoever has PTX, too, goes
    // on with that, so it is not printed as a fault.
    const std::string why =
        "the emulated device executes PTX, found machine code";
    if (!driver.fault)
      driver.lastRefusal = why;
    writeLog(why);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  try {
    loaded->program = parse(text, placeVariable, &driver);
  } catch (const Fault &found) {
    return refuse(found.code, found.text);
  }
  if (loaded->program->target > driver.settings.target)
    return refuse(
        CUDA_ERROR_NO_BINARY_FOR_GPU,
        "the PTX is for sm_" + std::to_string(loaded->program->target) +
            ", the device is sm_" + std::to_string(driver.settings.target));
  if (loaded->program->ptxVersion > 90)
    return refuse(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                  "the PTX is newer than version 9.0");
  driver.modules.insert(loaded.get());
  *module = loaded.release();
  return CUDA_SUCCESS;
}

// After an error, too, memory of the process is given back.
CUresult cuModuleUnload(CUmodule module) {
  Call call;
  call.driver.finishAll();
  if (!call.driver.modules.erase(module))
    return CUDA_ERROR_INVALID_HANDLE;
  for (const Variable &variable : module->program->variables)
    if (variable.space == Space::Global)
      call.driver.memory->release(variable.address);
  delete module;
  return call.state();
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                             const char *name) {
  BEGIN_CALL;
  if (!driver.modules.count(module))
    return CUDA_ERROR_INVALID_HANDLE;
  auto found = module->program->functions.find(name);
  if (found == module->program->functions.end())
    return CUDA_ERROR_NOT_FOUND;
  auto &handle = module->functions[name];
  if (!handle) {
    handle = std::make_unique<CUfunc_st>();
    handle->program = module->program.get();
    handle->function = found->second.get();
    handle->mostDynamicShared =
        48 * 1024 - std::min<uint32_t>(48 * 1024, found->second->sharedBytes);
  }
  *function = handle.get();
  return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes,
                              CUmodule module, const char *name) {
  BEGIN_CALL;
  if (!driver.modules.count(module))
    return CUDA_ERROR_INVALID_HANDLE;
  for (const Variable &variable : module->program->variables)
    if (variable.name == name && variable.space != Space::Shared) {
      if (address)
        *address = variable.address;
      if (bytes)
        *bytes = variable.bytes;
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute,
                            CUfunction function) {
  BEGIN_CALL;
  const Function &code = *function->function;
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = code.mostThreads[0] ? code.mostThreads[0] * code.mostThreads[1] *
                                       code.mostThreads[2]
                                 : 1024;
    break;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *value = code.sharedBytes;
    break;
  case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
  case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    *value = 0;
    break;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    *value = code.localBytes;
    break;
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    return CUDA_ERROR_NOT_SUPPORTED; // PTX has virtual registers
  case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    *value = function->program->ptxVersion;
    break;
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    *value = driver.settings.target;
    break;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = function->mostDynamicShared;
    break;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                            int value) {
  BEGIN_CALL;
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
      value < 0 ||
      uint64_t(value) + function->function->sharedBytes >
          sharedLimit(driver.settings.target))
    return CUDA_ERROR_INVALID_VALUE;
  function->mostDynamicShared = value;
  return CUDA_SUCCESS;
}

// --- Memory.

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  BEGIN_CALL;
  *total = driver.memory->capacity();
  *free = *total - driver.memory->used();
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  BEGIN_CALL;
  if (!bytes)
    return CUDA_ERROR_INVALID_VALUE;
  Region *region = driver.memory->allocate(bytes);
  if (!region)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *address = region->begin;
  return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  BEGIN_CALL;
  if (CUresult error = synchronize(driver))
    return error;
  return !address || driver.memory->release(address) ? CUDA_SUCCESS
                                                     : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute,
                               CUdeviceptr address) {
  BEGIN_CALL;
  const Region *region = driver.memory->find(address);
  if (!region)
    return CUDA_ERROR_INVALID_VALUE;
  auto give = [value](auto found) {
    memcpy(value, &found, sizeof(found));
    return CUDA_SUCCESS;
  };
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    return give(region->kind == Region::Host ? CU_MEMORYTYPE_HOST
                                             : CU_MEMORYTYPE_DEVICE);
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    return give(int(driver.device));
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    return give(CUdeviceptr(region->begin));
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    return give(size_t(region->bytes));
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned) {
  BEGIN_CALL;
  if (!bytes)
    return CUDA_ERROR_INVALID_VALUE;
  *pointer = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (!*pointer)
    return CUDA_ERROR_OUT_OF_MEMORY;
  driver.memory->addHost(*pointer, bytes);
  driver.hostMemory.insert(*pointer);
  return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *pointer) {
  BEGIN_CALL;
  driver.finishAll();
  if (!driver.hostMemory.erase(pointer))
    return CUDA_ERROR_INVALID_VALUE;
  driver.memory->removeHost(pointer);
  free(pointer);
  return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned) {
  BEGIN_CALL;
  return driver.memory->addHost(pointer, bytes)
             ? CUDA_SUCCESS
             : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

CUresult cuMemHostUnregister(void *pointer) {
  BEGIN_CALL;
  driver.finishAll();
  return driver.memory->removeHost(pointer)
             ? CUDA_SUCCESS
             : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes,
                              CUstream stream) {
  BEGIN_CALL;
  return driver.enqueue(stream, CopyWork{to, reinterpret_cast<uint64_t>(from),
                                         bytes, true, false});
}
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes,
                              CUstream stream) {
  BEGIN_CALL;
  return driver.enqueue(stream, CopyWork{reinterpret_cast<uint64_t>(to), from,
                                         bytes, false, true});
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                              CUstream stream) {
  BEGIN_CALL;
  return driver.enqueue(stream, CopyWork{to, from, bytes, true, true});
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
                         CUstream stream) {
  BEGIN_CALL;
  return driver.enqueue(stream, FillWork{to, value, 1, count});
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count,
                          CUstream stream) {
  BEGIN_CALL;
  return driver.enqueue(stream, FillWork{to, value, 2, count});
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count,
                          CUstream stream) {
  BEGIN_CALL;
  return driver.enqueue(stream, FillWork{to, value, 4, count});
}

// --- Launches.

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY,
                        unsigned gridZ, unsigned blockX, unsigned blockY,
                        unsigned blockZ, unsigned sharedBytes, CUstream stream,
                        void **parameters, void **extra) {
  BEGIN_CALL;
  KernelWork work{function,
                  {gridX, gridY, gridZ},
                  {blockX, blockY, blockZ},
                  sharedBytes,
                  {}};
  if (CUresult error = driver.prepare(work, parameters, extra))
    return error;
  return driver.enqueue(stream, std::move(work));
}

// --- What CUDA does not have.

const char *tenonEmulatedCudaError() {
  Call call;
  return call.driver.fault ? call.driver.fault->text.c_str()
                           : call.driver.lastRefusal.c_str();
}

CUresult tenonEmulatedCudaCounters(CUfunction function,
                                   TenonEmulatedCounters *counters) {
  Call call;
  *counters = function->counters;
  return CUDA_SUCCESS;
}

CUresult tenonEmulatedCudaPoison(CUdeviceptr address, size_t bytes) {
  BEGIN_CALL;
  Region *region = driver.memory->find(address);
  if (!region || region->kind != Region::Device ||
      !region->contains(address, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  region->setWritten(address - region->begin, bytes, false);
  memset(region->data + (address - region->begin), 0xFF, bytes);
  return CUDA_SUCCESS;
}

int tenonEmulatedCudaDevice() {
  Call call;
  return call.driver.device;
}

int tenonEmulatedCudaIsCapturing(CUstream stream) {
  Call call;
  return stream && stream->capturing;
}

CUresult tenonEmulatedCudaEnqueue(
    CUstream stream, const char *name, const TenonEmulatedAccess *accesses,
    size_t accessCount, const char *(*run)(void *data, void *const *bytes),
    void *data, void (*drop)(void *data)) {
  std::shared_ptr<void> kept(data, drop);
  BEGIN_CALL;
  return driver.enqueue(
      stream,
      std::make_shared<const LibraryWork>(LibraryWork{
          name, {accesses, accesses + accessCount}, run, std::move(kept)}));
}

uint64_t tenonEmulatedCudaOverlaps() {
  Call call;
  return call.driver.overlaps;
}

void tenonEmulatedCudaReset() {
  Call call;
  Driver &driver = call.driver;
  for (CUstream stream : driver.streams) {
    stream->waiting.clear();
    stream->done = stream->given;
  }
  driver.done.clear();
  driver.overlaps = 0;
  for (CUmodule module : driver.modules)
    delete module;
  driver.modules.clear();
  for (void *pointer : driver.hostMemory)
    free(pointer);
  driver.hostMemory.clear();
  driver.memory.reset();
  driver.fault.reset();
  driver.lastRefusal.clear();
  driver.reported = false;
  driver.initialised = false;
  driver.current = nullptr;
  driver.retained = 0;
  driver.generation = 0;
  driver.microseconds = 0;
}

#pragma GCC visibility pop
