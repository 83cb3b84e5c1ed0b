//===- CInterface.cpp - Tenon's C interface -------------------------------===//
//
// The functions of tenon/runtime.h on top of the Executor. Nothing may leave
// them but a status: exceptions of the standard library end here.
//
//===----------------------------------------------------------------------===//

#include "tenon/runtime.h"

#include "tenon/Runtime/State.h"

#include <cstring>
#include <exception>
#include <new>

using namespace tenon;
using namespace tenon::runtime;

struct tenon_program {
  std::unique_ptr<Executor> executor;
};

// The message must outlive the call that failed and belong to its thread.
static thread_local std::string lastMessage;

static tenon_status fail(tenon_status status, std::string message) {
  lastMessage = std::move(message);
  return status;
}

static tenon_status fail(const Error &error) {
  static constexpr tenon_status statuses[] = {
      TENON_ERROR_FILE, TENON_ERROR_MACHINE, TENON_ERROR_MEMORY,
      TENON_ERROR_ARGUMENT, TENON_ERROR_RUN};
  return fail(statuses[size_t(error.kind)], error.message);
}

/// Runs `body`, which returns a status, and keeps exceptions inside.
template <typename Body>
static tenon_status guarded(Body body) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    // The message itself must not need much memory.
    lastMessage.clear();
    return TENON_ERROR_MEMORY;
  } catch (const std::exception &exception) {
    return fail(TENON_ERROR_INTERNAL, exception.what());
  }
}

static tenon_status notGiven(const char *what) {
  return fail(TENON_ERROR_ARGUMENT, std::string(what) + " is null");
}

/// A status other than TENON_OK if there is no such tensor.
static tenon_status checkTensor(const tenon_program *program, size_t tensor) {
  if (!program)
    return notGiven("the program");
  size_t count = program->executor->index().tensors.size();
  if (tensor >= count)
    return fail(TENON_ERROR_ARGUMENT,
                "there is no tensor " + std::to_string(tensor) +
                    ", the program has " + std::to_string(count));
  return TENON_OK;
}

static tenon_status checkSize(const tenon_program *program, size_t tensor,
                              size_t bytes) {
  if (tenon_status status = checkTensor(program, tensor); status != TENON_OK)
    return status;
  const format::Tensor &description =
      program->executor->index().tensors[tensor];
  if (bytes == description.storage.bytes)
    return TENON_OK;
  return fail(TENON_ERROR_ARGUMENT,
              "tensor '" + description.name + "' has " +
                  std::to_string(description.storage.bytes) + " bytes, given " +
                  std::to_string(bytes));
}

static ExecutorOptions optionsFrom(const tenon_options *options) {
  ExecutorOptions result;
  if (options) {
    result.threads = options->threads;
    result.flushDenormals = options->keep_denormals == 0;
  }
  return result;
}

static tenon_status finishLoad(std::unique_ptr<Executor> executor,
                               const Error &error, tenon_program **program) {
  if (!executor)
    return fail(error);
  *program = new tenon_program{std::move(executor)};
  return TENON_OK;
}

const char *tenon_error_message(void) { return lastMessage.c_str(); }

const char *tenon_version(void) { return TENON_VERSION; }

tenon_status tenon_load(const char *path, const tenon_options *options,
                        tenon_program **program) {
  return guarded([&] {
    if (!path || !program)
      return notGiven(path ? "the place for the program" : "the path");
    *program = nullptr;
    Error error;
    auto executor = Executor::load(path, optionsFrom(options), error);
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
    const auto *begin = static_cast<const std::byte *>(bytes);
    Error error;
    auto executor =
        Executor::loadBytes({begin, begin + size}, optionsFrom(options), error);
    return finishLoad(std::move(executor), error, program);
  });
}

void tenon_unload(tenon_program *program) { delete program; }

size_t tenon_tensor_count(const tenon_program *program) {
  return program ? program->executor->index().tensors.size() : 0;
}

tenon_status tenon_get_tensor(const tenon_program *program, size_t tensor,
                              tenon_tensor_info *info) {
  return guarded([&] {
    if (tenon_status status = checkTensor(program, tensor); status != TENON_OK)
      return status;
    if (!info)
      return notGiven("the place for the description");
    const Executor &executor = *program->executor;
    const format::Tensor &description = executor.index().tensors[tensor];
    // The names come from tables of string literals, which end in a null.
    info->name = description.name.c_str();
    info->type = safetensorsName(description.type).data();
    info->role = name(description.role).data();
    info->kind = executor.isState(tensor)   ? TENON_STATE
                 : executor.isBatch(tensor) ? TENON_BATCH
                                            : TENON_RESULT;
    info->rank = uint32_t(description.shape.size());
    info->shape = description.shape.data();
    info->bytes = description.storage.bytes;
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
                  "there is no tensor '" + std::string(name) + "'");
    *tensor = *found;
    return TENON_OK;
  });
}

tenon_status tenon_write(tenon_program *program, size_t tensor,
                         const void *from, size_t bytes) {
  return guarded([&] {
    if (tenon_status status = checkSize(program, tensor, bytes);
        status != TENON_OK)
      return status;
    if (!from && bytes > 0)
      return notGiven("the source");
    if (bytes > 0)
      std::memcpy(program->executor->memory(tensor).data(), from, bytes);
    return TENON_OK;
  });
}

tenon_status tenon_read(const tenon_program *program, size_t tensor, void *to,
                        size_t bytes) {
  return guarded([&] {
    if (tenon_status status = checkSize(program, tensor, bytes);
        status != TENON_OK)
      return status;
    if (!to && bytes > 0)
      return notGiven("the target");
    if (bytes > 0)
      std::memcpy(to, program->executor->memory(tensor).data(), bytes);
    return TENON_OK;
  });
}

tenon_status tenon_data(const tenon_program *program, size_t tensor,
                        void **data) {
  return guarded([&] {
    if (tenon_status status = checkTensor(program, tensor); status != TENON_OK)
      return status;
    if (!data)
      return notGiven("the place for the address");
    *data = program->executor->memory(tensor).data();
    return TENON_OK;
  });
}

tenon_status tenon_bind(tenon_program *program, size_t tensor, void *memory,
                        size_t bytes) {
  return guarded([&] {
    if (tenon_status status = memory ? checkSize(program, tensor, bytes)
                                     : checkTensor(program, tensor);
        status != TENON_OK)
      return status;
    Error error;
    return program->executor->bind(tensor, memory, error) ? TENON_OK
                                                          : fail(error);
  });
}

tenon_status tenon_run(tenon_program *program, int64_t steps) {
  return guarded([&] {
    if (!program)
      return notGiven("the program");
    Error error;
    return program->executor->run(steps, error) ? TENON_OK : fail(error);
  });
}

/// The functions that take a program and a path.
template <typename Program, typename Action>
static tenon_status withFile(Program *program, const char *path,
                             Action action) {
  return guarded([&] {
    if (!program || !path)
      return notGiven(program ? "the path" : "the program");
    Error error;
    return action(*program->executor, path, error) ? TENON_OK : fail(error);
  });
}

tenon_status tenon_load_state(tenon_program *program, const char *path) {
  return withFile(program, path, loadState);
}

tenon_status tenon_load_arguments(tenon_program *program, const char *path) {
  return withFile(program, path,
                  [](Executor &executor, const char *path, Error &error) {
                    std::vector<size_t> filled;
                    return loadArguments(executor, path, filled, error);
                  });
}

tenon_status tenon_save_state(const tenon_program *program, const char *path) {
  return withFile(program, path, saveState);
}

tenon_status tenon_save_results(const tenon_program *program,
                                const char *path) {
  return withFile(program, path, saveResults);
}
