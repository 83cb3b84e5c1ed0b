//===- CInterface.cpp - Tenon's C interface -------------------------------===//
//
// The functions of tenon/runtime.h on top of the Executor. Nothing may leave
// them but a status: exceptions end here, also those of making a message.
//
//===----------------------------------------------------------------------===//

#include "tenon/runtime.h"

#include "tenon/Runtime/Settings.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>

using namespace tenon;
using namespace tenon::runtime;

#define TENON_TEXT_OF(x) #x
#define TENON_TEXT(x) TENON_TEXT_OF(x)
static_assert(std::string_view(TENON_VERSION) ==
                  TENON_TEXT(TENON_VERSION_MAJOR) "." TENON_TEXT(
                      TENON_VERSION_MINOR) "." TENON_TEXT(TENON_VERSION_PATCH),
              "tenon/runtime.h and CMakeLists.txt give different versions");

struct tenon_program {
  std::unique_ptr<Executor> executor;
  std::atomic_flag isBusy;
  Settings settings;
};

struct tenon_checkpoints {
  std::unique_ptr<CheckpointFolder> folder;
  std::string data, notes; // of what was loaded last
};

// The message must outlive the call that failed and belong to its thread.
static thread_local std::string lastMessage;
// Stands for it where there is no memory for a message; else null.
static thread_local const char *lastFixedMessage = nullptr;

static tenon_status fail(tenon_status status, std::string message) {
  lastMessage = std::move(message);
  lastFixedMessage = nullptr;
  return status;
}

static tenon_status failWithoutMemory() {
  lastFixedMessage = "there is not enough memory for the call";
  return TENON_ERROR_MEMORY;
}

static tenon_status fail(const Error &error) {
  static constexpr tenon_status statuses[] = {
      TENON_ERROR_FILE,     TENON_ERROR_MACHINE, TENON_ERROR_MEMORY,
      TENON_ERROR_ARGUMENT, TENON_ERROR_RUN,     TENON_ERROR_VALUE,
      TENON_ERROR_MACHINE};
  return fail(statuses[size_t(error.kind)], error.message);
}

/// Runs `body`, which returns a status, and keeps exceptions inside.
template <typename Body>
static tenon_status guarded(Body body) noexcept {
  try {
    try {
      return body();
    } catch (const std::bad_alloc &) {
      return failWithoutMemory();
    } catch (const std::exception &exception) {
      return fail(TENON_ERROR_INTERNAL, exception.what());
    } catch (...) {
      return fail(TENON_ERROR_INTERNAL, "an unknown exception");
    }
  } catch (...) { // there was no memory for the message
    return failWithoutMemory();
  }
}

static tenon_status notGiven(const char *what) {
  return fail(TENON_ERROR_ARGUMENT, std::string(what) + " is null");
}

static tenon_status busy() {
  return fail(TENON_ERROR_BUSY,
              "another thread is using the program; a program is used by one "
              "thread at a time");
}

/// Runs `body` as the only one at work on the program.
template <typename Body>
static tenon_status exclusively(const tenon_program *program,
                                Body body) noexcept {
  return guarded([&]() -> tenon_status {
    if (!program)
      return notGiven("the program");
    struct Use {
      std::atomic_flag &flag;
      bool isFirst = !flag.test_and_set(std::memory_order_acquire);
      ~Use() {
        if (isFirst)
          flag.clear(std::memory_order_release);
      }
    } use{const_cast<tenon_program *>(program)->isBusy};
    return use.isFirst ? body() : busy();
  });
}

/// Whether the caller's struct is of a size this library can work with: that of
/// version 0.2, which ended after `firstBytes`, or larger.
template <typename Struct>
static tenon_status checkStruct(const Struct *given, size_t firstBytes,
                                const char *name) {
  if (given->struct_size >= firstBytes)
    return TENON_OK;
  return fail(TENON_ERROR_ARGUMENT,
              std::string("the struct_size of ") + name + " is " +
                  std::to_string(given->struct_size) + ", expected " +
                  std::to_string(sizeof(Struct)) +
                  "; start it with its _INIT macro");
}

/// A status other than TENON_OK if there is no such tensor.
static tenon_status checkTensor(const tenon_program *program, size_t tensor) {
  size_t count = program->executor->index().visibleTensors();
  if (tensor >= count)
    return fail(TENON_ERROR_ARGUMENT,
                "there is no tensor number " + std::to_string(tensor) +
                    ", the program has " + std::to_string(count) +
                    ", numbered from 0");
  return TENON_OK;
}

static tenon_status checkSize(const tenon_program *program, size_t tensor,
                              size_t bytes) {
  if (tenon_status status = checkTensor(program, tensor); status != TENON_OK)
    return status;
  const format::Tensor &description =
      program->executor->index().tensors[tensor];
  if (bytes == format::bytesOf(description))
    return TENON_OK;
  return fail(TENON_ERROR_ARGUMENT,
              "tensor '" + description.name + "' has " +
                  std::to_string(format::bytesOf(description)) +
                  " bytes, given " + std::to_string(bytes));
}

/// Whether there is such a tensor, and callers may use it where it is.
static tenon_status checkInPlace(const tenon_program *program, size_t tensor) {
  if (tenon_status status = checkTensor(program, tensor); status != TENON_OK)
    return status;
  const std::string &why = program->executor->whyNotInPlace(tensor);
  if (why.empty())
    return TENON_OK;
  return fail(TENON_ERROR_ARGUMENT,
              "tensor '" + program->executor->index().tensors[tensor].name +
                  "' cannot be used in place: " + why +
                  "; copy it with tenon_read and tenon_write");
}

static tenon_status readOptions(const tenon_options *options,
                                ExecutorOptions &result) {
  if (!options)
    return TENON_OK;
  // It ended before these at first, and later.
  size_t least = sizeof(tenon_options);
  for (size_t end :
       {offsetof(tenon_options, gpu), offsetof(tenon_options, cublaslt)})
    if (options->struct_size == end)
      least = end;
  if (tenon_status status = checkStruct(options, least, "tenon_options");
      status != TENON_OK)
    return status;
  // What a newer header has appended must be off: this library cannot do it.
  const auto *bytes = reinterpret_cast<const std::byte *>(options);
  const size_t known =
      std::min<size_t>(options->struct_size, sizeof(tenon_options));
  // An older header's struct ends before ours.
  tenon_options given = TENON_OPTIONS_INIT;
  std::memcpy(&given, bytes, known);
  if (std::any_of(bytes + known, bytes + options->struct_size,
                  [](std::byte byte) { return byte != std::byte{0}; }))
    return fail(TENON_ERROR_ARGUMENT,
                "tenon_options sets an option that version " TENON_VERSION
                " of the library does not know");
  result.threads = given.threads;
  result.prefault = given.prefault != 0;
  result.gpu = given.gpu;
  if (given.cuda_driver)
    result.cudaDriver = given.cuda_driver;
  if (given.cublaslt)
    result.cublasLt = given.cublaslt;
  if (given.algorithm_cache)
    result.algorithmCache = given.algorithm_cache;
  result.cudaStream = given.cuda_stream;
  result.tune = given.tune != 0;
  result.ranks = std::max<int64_t>(given.ranks, 1);
  return TENON_OK;
}

static tenon_status finishLoad(std::unique_ptr<Executor> executor,
                               const Error &error, tenon_program **program) {
  if (!executor)
    return fail(error);
  *program = new tenon_program{std::move(executor), {}, {}};
  return TENON_OK;
}

const char *tenon_error_message(void) {
  return lastFixedMessage ? lastFixedMessage : lastMessage.c_str();
}

const char *tenon_version(void) { return TENON_VERSION; }

uint32_t tenon_version_number(void) { return TENON_VERSION_NUMBER; }

tenon_status tenon_load(const char *path, const tenon_options *options,
                        tenon_program **program) {
  return guarded([&] {
    if (!path || !program)
      return notGiven(path ? "the place for the program" : "the path");
    *program = nullptr;
    ExecutorOptions wanted;
    if (tenon_status status = readOptions(options, wanted); status != TENON_OK)
      return status;
    Error error;
    auto executor = Executor::load(path, wanted, error);
    return finishLoad(std::move(executor), error, program);
  });
}

tenon_status tenon_load_bytes(const void *bytes, size_t size,
                              const tenon_options *options,
                              tenon_program **program) {
  return guarded([&] {
    if (!bytes || !program)
      return notGiven(bytes ? "the place for the program" : "the file");
    *program = nullptr;
    ExecutorOptions wanted;
    if (tenon_status status = readOptions(options, wanted); status != TENON_OK)
      return status;
    const auto *begin = static_cast<const std::byte *>(bytes);
    Error error;
    auto executor = Executor::loadBytes({begin, begin + size}, wanted, error);
    return finishLoad(std::move(executor), error, program);
  });
}

tenon_status tenon_unload(tenon_program *program) {
  return guarded([&] {
    // Stays set: whoever comes while it is freed is turned away.
    if (program && program->isBusy.test_and_set(std::memory_order_acquire))
      return busy();
    delete program;
    return TENON_OK;
  });
}

size_t tenon_tensor_count(const tenon_program *program) {
  return program ? program->executor->index().visibleTensors() : 0;
}

tenon_status tenon_get_tensor(const tenon_program *program, size_t tensor,
                              tenon_tensor_info *info) {
  // What the signature says never changes, so others may be at work.
  return guarded([&] {
    if (!program || !info)
      return notGiven(program ? "the place for the description"
                              : "the program");
    if (tenon_status status = checkTensor(program, tensor); status != TENON_OK)
      return status;
    if (tenon_status status =
            checkStruct(info, sizeof(tenon_tensor_info), "tenon_tensor_info");
        status != TENON_OK)
      return status;
    const Executor &executor = *program->executor;
    const format::Tensor &description = executor.index().tensors[tensor];
    // The names come from tables of string literals, which end in a null.
    info->name = description.name.c_str();
    info->type = safetensorsName(description.type).data();
    info->role = name(description.role).data();
    bool isEntrys = !description.isOfStep();
    info->kind = executor.isState(tensor)   ? TENON_STATE
                 : executor.isBatch(tensor) ? TENON_BATCH
                 : !isEntrys                ? TENON_RESULT
                 : executor.isBatch(tensor, description.entryPoint)
                     ? TENON_ENTRY_INPUT
                     : TENON_ENTRY_RESULT;
    info->rank = description.shape.size();
    info->shape = description.shape.data();
    info->bytes = format::bytesOf(description);
    info->argument = description.argument;
    info->result = description.result;
    return TENON_OK;
  });
}

tenon_status tenon_find_tensor(const tenon_program *program, const char *name,
                               size_t *tensor) {
  return guarded([&] {
    if (!program || !name || !tensor)
      return notGiven(!program ? "the program"
                      : !name  ? "the name"
                               : "the place for the tensor");
    auto found = program->executor->findTensor(name);
    if (!found)
      return fail(TENON_ERROR_ARGUMENT,
                  "the program has no tensor '" + std::string(name) +
                      "'; tenon inspect lists the names it has");
    *tensor = *found;
    return TENON_OK;
  });
}

/// Copies a tensor to or from all of the caller's memory, which `memory` names.
template <typename Copy>
static tenon_status copy(const tenon_program *program, size_t tensor,
                         const void *address, size_t bytes, const char *memory,
                         Copy copyWith) {
  return exclusively(program, [&] {
    if (tenon_status status = checkSize(program, tensor, bytes);
        status != TENON_OK)
      return status;
    if (!address && bytes > 0)
      return notGiven(memory);
    Error error;
    return copyWith(*program->executor, error) ? TENON_OK : fail(error);
  });
}

tenon_status tenon_write(tenon_program *program, size_t tensor,
                         const void *from, size_t bytes) {
  return copy(program, tensor, from, bytes, "the source",
              [&](Executor &executor, Error &error) {
                return executor.write(
                    tensor, {static_cast<const std::byte *>(from), bytes},
                    error);
              });
}

tenon_status tenon_read(const tenon_program *program, size_t tensor, void *to,
                        size_t bytes) {
  return copy(program, tensor, to, bytes, "the target",
              [&](Executor &executor, Error &error) {
                return executor.read(
                    tensor, {static_cast<std::byte *>(to), bytes}, error);
              });
}

tenon_status tenon_data(const tenon_program *program, size_t tensor,
                        void **data) {
  return exclusively(program, [&] {
    if (tenon_status status = checkInPlace(program, tensor); status != TENON_OK)
      return status;
    if (!data)
      return notGiven("the place for the address");
    *data = program->executor->memory(tensor).data();
    return TENON_OK;
  });
}

tenon_status tenon_mark_written(tenon_program *program, size_t tensor) {
  return exclusively(program, [&] {
    tenon_status status = checkTensor(program, tensor);
    if (status == TENON_OK &&
        !program->executor->whyNotOnDevice(tensor).empty())
      status = checkInPlace(program, tensor);
    if (status == TENON_OK)
      program->executor->markWritten(tensor);
    return status;
  });
}

tenon_status tenon_bind(tenon_program *program, size_t tensor, void *memory,
                        size_t bytes) {
  return exclusively(program, [&] {
    if (tenon_status status = memory ? checkSize(program, tensor, bytes)
                                     : checkTensor(program, tensor);
        status != TENON_OK)
      return status;
    Error error;
    return program->executor->bind(tensor, memory, error) ? TENON_OK
                                                          : fail(error);
  });
}

tenon_status tenon_device_data(const tenon_program *program, size_t tensor,
                               void **data) {
  return exclusively(program, [&] {
    if (tenon_status status = checkTensor(program, tensor); status != TENON_OK)
      return status;
    if (!data)
      return notGiven("the place for the address");
    const Executor &executor = *program->executor;
    if (const std::string &why = executor.whyNotOnDevice(tensor); !why.empty())
      return fail(TENON_ERROR_ARGUMENT,
                  "tensor '" + executor.index().tensors[tensor].name +
                      "' cannot be used in memory of a GPU: " + why +
                      "; copy it with tenon_read and tenon_write");
    *data = executor.deviceMemory(tensor);
    return TENON_OK;
  });
}

tenon_status tenon_bind_device(tenon_program *program, size_t tensor,
                               void *memory, size_t bytes) {
  return exclusively(program, [&] {
    if (tenon_status status = memory ? checkSize(program, tensor, bytes)
                                     : checkTensor(program, tensor);
        status != TENON_OK)
      return status;
    Error error;
    return program->executor->bindDevice(tensor, memory, error) ? TENON_OK
                                                                : fail(error);
  });
}

tenon_status tenon_write_from_device(tenon_program *program, size_t tensor,
                                     const void *from, size_t bytes) {
  return copy(program, tensor, from, bytes, "the source",
              [&](Executor &executor, Error &error) {
                return executor.writeFromDevice(tensor, from, error);
              });
}

tenon_status tenon_read_to_device(const tenon_program *program, size_t tensor,
                                  void *to, size_t bytes) {
  return copy(program, tensor, to, bytes, "the target",
              [&](Executor &executor, Error &error) {
                return executor.readToDevice(tensor, to, error);
              });
}

tenon_status tenon_cuda_device(const tenon_program *program, uint32_t *gpu,
                               void **stream) {
  return exclusively(program, [&] {
    if (!gpu || !stream)
      return notGiven(gpu ? "the place for the stream"
                          : "the place for the GPU's number");
    const auto place = program->executor->cudaPlace();
    if (!place)
      return fail(TENON_ERROR_ARGUMENT, "the program runs on a processor");
    *gpu = place->gpu;
    *stream = place->stream;
    return TENON_OK;
  });
}

tenon_status tenon_initialize_zeros(tenon_program *program) {
  return exclusively(program, [&] {
    Error error;
    return program->executor->initializeZeros(error) ? TENON_OK : fail(error);
  });
}

tenon_status tenon_run(tenon_program *program, int64_t steps) {
  return exclusively(program, [&] {
    Error error;
    return program->executor->run(steps, error) ? TENON_OK : fail(error);
  });
}

tenon_status tenon_run_entry(tenon_program *program, const char *entry) {
  return exclusively(program, [&] {
    if (!entry)
      return notGiven("the name of the entry point");
    Error error;
    if (!format::Index::isExtra(entry))
      return fail(TENON_ERROR_ARGUMENT,
                  "'" + std::string(entry) +
                      "' is no entry point beside the step; tenon_run() runs "
                      "the step");
    return program->executor->run(1, error, entry) ? TENON_OK : fail(error);
  });
}

size_t tenon_overflow_count(const tenon_program *program) {
  return program ? size_t(std::ranges::count_if(
                       program->executor->index().tensors,
                       [](const format::Tensor &tensor) {
                         return !tensor.countsOverflowOf().empty();
                       }))
                 : 0;
}

tenon_status tenon_get_overflow(const tenon_program *program, size_t number,
                                tenon_overflow *overflow) {
  return exclusively(program, [&] {
    if (!overflow)
      return notGiven("the place for the counter");
    if (tenon_status status =
            checkStruct(overflow, sizeof(tenon_overflow), "tenon_overflow");
        status != TENON_OK)
      return status;
    Error error;
    auto all = program->executor->overflows(error);
    if (!all)
      return fail(error);
    if (number >= all->size())
      return fail(TENON_ERROR_ARGUMENT,
                  "there is no counter " + std::to_string(number) +
                      ", the program has " + std::to_string(all->size()));
    // What follows the prefix of a name, which ends in a null.
    overflow->tensor = (*all)[number].tensor.data();
    overflow->elements = (*all)[number].elements;
    return TENON_OK;
  });
}

/// The functions that take a program and a path.
template <typename Program, typename Action>
static tenon_status withFile(Program *program, const char *path,
                             Action action) {
  return exclusively(program, [&] {
    if (!path)
      return notGiven("the path");
    Error error;
    return action(*program->executor, path, error) ? TENON_OK : fail(error);
  });
}

tenon_status tenon_load_state(tenon_program *program, const char *path) {
  return withFile(program, path, [](auto &executor, auto *file, Error &error) {
    return loadState(executor, file, error);
  });
}

tenon_status tenon_load_batch(tenon_program *program, const char *path) {
  return withFile(program, path, loadBatch);
}

tenon_status tenon_load_arguments(tenon_program *program, const char *path) {
  return withFile(program, path, loadArguments);
}

tenon_status tenon_save_state(const tenon_program *program, const char *path) {
  return withFile(program, path, [](auto &executor, auto *file, Error &error) {
    return saveState(executor, file, error);
  });
}

tenon_status tenon_save_results(const tenon_program *program,
                                const char *path) {
  return withFile(program, path, saveResults);
}

tenon_status tenon_set(tenon_program *program, const char *name,
                       const char *value) {
  return exclusively(program, [&] {
    if (!name || !value)
      return notGiven(name ? "the value" : "the name");
    SettingValues told;
    told.values[name] = value;
    std::string error;
    return program->settings.give(*program->executor, told, {}, {}, error)
               ? TENON_OK
               : fail(TENON_ERROR_ARGUMENT, error);
  });
}

tenon_status tenon_schedule(tenon_program *program, const char *name,
                            const char *schedule) {
  return exclusively(program, [&] {
    if (!name || !schedule)
      return notGiven(name ? "the schedule" : "the name");
    std::string error;
    auto parsed = Schedule::parse(schedule, error);
    if (!parsed)
      return fail(TENON_ERROR_ARGUMENT,
                  "the schedule of '" + std::string(name) + "': " + error);
    SettingValues told;
    told.schedules.emplace(name, *parsed);
    return program->settings.give(*program->executor, told, {}, {}, error)
               ? TENON_OK
               : fail(TENON_ERROR_ARGUMENT, error);
  });
}

tenon_status tenon_apply_schedules(tenon_program *program, int64_t step) {
  return exclusively(program, [&] {
    if (step < 0)
      return fail(TENON_ERROR_ARGUMENT, "the step is negative");
    Error error;
    return program->settings.apply(*program->executor, step, error)
               ? TENON_OK
               : fail(error);
  });
}

tenon_status tenon_open_checkpoints(const char *folder,
                                    tenon_checkpoints **checkpoints) {
  return guarded([&] {
    if (!folder || !checkpoints)
      return notGiven(folder ? "the place for the checkpoints" : "the folder");
    *checkpoints = nullptr;
    Error error;
    auto opened = CheckpointFolder::open(folder, error);
    if (!opened)
      return fail(error);
    *checkpoints = new tenon_checkpoints{std::move(opened), {}, {}};
    return TENON_OK;
  });
}

void tenon_close_checkpoints(tenon_checkpoints *checkpoints) {
  delete checkpoints;
}

tenon_status tenon_newest_checkpoint(const tenon_checkpoints *checkpoints,
                                     int64_t *step) {
  return guarded([&] {
    if (!checkpoints || !step)
      return notGiven(checkpoints ? "the place for the step"
                                  : "the checkpoints");
    std::vector<int64_t> steps = checkpoints->folder->steps();
    *step = steps.empty() ? -1 : steps.front();
    return TENON_OK;
  });
}

/// The name under which a run.json has the caller's text.
static constexpr const char *dataName = "text";

tenon_status tenon_save_checkpoint(tenon_checkpoints *checkpoints,
                                   const tenon_program *program,
                                   const tenon_position *position,
                                   size_t keep) {
  return exclusively(program, [&] {
    if (!checkpoints || !position)
      return notGiven(checkpoints ? "the position" : "the checkpoints");
    if (tenon_status status =
            checkStruct(position, sizeof(tenon_position), "tenon_position");
        status != TENON_OK)
      return status;
    if (position->step < 0 || position->batches < 0)
      return fail(TENON_ERROR_ARGUMENT, "the position is negative");
    RunRecord record;
    record.step = position->step;
    record.batches = position->batches;
    if (position->data)
      record.data[dataName] = position->data;
    Error error;
    if (!program->settings.current(*program->executor, record.settings,
                                   error) ||
        !checkpoints->folder->save(*program->executor, record, error))
      return fail(error);
    if (keep > 0)
      checkpoints->folder->keepNewest(keep);
    return TENON_OK;
  });
}

tenon_status tenon_load_checkpoint(tenon_checkpoints *checkpoints,
                                   tenon_program *program,
                                   tenon_position *position) {
  return exclusively(program, [&] {
    if (!checkpoints || !position)
      return notGiven(checkpoints ? "the place for the position"
                                  : "the checkpoints");
    if (tenon_status status =
            checkStruct(position, sizeof(tenon_position), "tenon_position");
        status != TENON_OK)
      return status;
    RunRecord record;
    std::vector<std::string> notes;
    Error error;
    if (!checkpoints->folder->load(*program->executor, record, notes, error))
      return fail(error);
    if (!program->settings.give(*program->executor, {}, record.settings, {},
                                error.message))
      return fail(TENON_ERROR_ARGUMENT, error.message);
    checkpoints->notes.clear();
    for (const std::string &note : notes)
      checkpoints->notes += note + "\n";
    auto data = record.data.find(dataName);
    checkpoints->data = data == record.data.end() ? "" : data->second;
    position->step = record.step;
    position->batches = record.batches;
    position->data =
        data == record.data.end() ? nullptr : checkpoints->data.c_str();
    return TENON_OK;
  });
}

const char *tenon_checkpoint_notes(const tenon_checkpoints *checkpoints) {
  return checkpoints ? checkpoints->notes.c_str() : "";
}
