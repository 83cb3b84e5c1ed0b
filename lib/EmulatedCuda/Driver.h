//===- Driver.h - The state behind the driver's functions -----------------===//

#ifndef TENON_LIB_EMULATEDCUDA_DRIVER_H
#define TENON_LIB_EMULATEDCUDA_DRIVER_H

#include "Footprints.h"
#include "Launch.h"
#include <deque>
#include <mutex>
#include <set>
#include <variant>

// The handles of CUDA are pointers to these.
struct CUfunc_st {
  const tenon::emulated::Program *program = nullptr;
  const tenon::emulated::Function *function = nullptr;
  TenonEmulatedCounters counters{};
  uint32_t mostDynamicShared = 48 * 1024;
};
struct CUmod_st {
  std::unique_ptr<tenon::emulated::Program> program;
  std::map<std::string, std::unique_ptr<CUfunc_st>> functions;
};
struct CUctx_st {};

namespace tenon::emulated {

/// A matrix product of the emulated cuBLASLt, see CublasLt.h.
struct ProductWork;

/// Work of another library, see EmulatedCuda.h.
struct LibraryWork {
  std::string name;
  std::vector<TenonEmulatedAccess> accesses;
  const char *(*run)(void *data, void *const *bytes);
  std::shared_ptr<void> data;
};

struct KernelWork {
  CUfunction function;
  unsigned extent[3], threads[3], dynamicSharedBytes;
  std::vector<uint8_t> parameters;
};
struct CopyWork {
  uint64_t to, from, bytes;
  /// Which sides are said to be the device's; the others may be any memory of
  /// the host.
  bool toDevice, fromDevice;
};
struct FillWork {
  uint64_t to;
  uint32_t value, elementBytes;
  uint64_t count;
};
/// A function of the process. What it reads and writes the driver is not told.
struct HostWork {
  CUhostFn function;
  void *data;
};

/// Of a stream alone.
struct GraphWork {
  CUgraphExec executable;
};
struct EventWork {
  CUevent event;
};

/// What a stream or a node of a graph does; nothing for an empty node.
using Work =
    std::variant<std::monostate, KernelWork, CopyWork, FillWork, HostWork,
                 std::shared_ptr<const ProductWork>,
                 std::shared_ptr<const LibraryWork>, GraphWork, EventWork>;
/// "kernel 'k'".
std::string nameOf(const Work &work);

/// Of each stream, by its number, how much of its work comes before something.
using StreamClock = std::map<unsigned, uint64_t>;

/// A piece of a stream's work that has not been done.
struct StreamWork {
  Work work;
  StreamClock before;          // itself included
  std::vector<uint8_t> staged; // what a copy takes from memory that is not
                               // pinned
};

} // namespace tenon::emulated

struct CUstream_st {
  /// While it captures: what work becomes nodes of, one after the other.
  CUgraph capturing = nullptr;
  CUgraphNode last = nullptr;
  unsigned number = 0;
  uint64_t given = 0, done = 0;       // pieces of work
  tenon::emulated::StreamClock known; // what comes before whatever is given now
  std::deque<tenon::emulated::StreamWork> waiting;
};
struct CUevent_st {
  bool recorded = false, done = false;
  uint64_t microseconds = 0; // on the device's clock, when it was done
  tenon::emulated::StreamClock before;
};

namespace tenon::emulated {

/// One device with its context. The mutex keeps callers' threads apart.
struct Driver {
  static Driver &instance();

  std::recursive_mutex mutex;
  bool initialised = false;
  Settings settings;
  std::unique_ptr<DeviceMemory> memory;
  std::set<CUmodule> modules;
  std::set<CUstream> streams;
  std::set<CUevent> events;
  std::set<void *> hostMemory;
  CUctx_st context;
  CUcontext current = nullptr;
  CUdevice device = 0; // the one that the process uses
  unsigned retained = 0;
  uint32_t generation = 0;
  uint64_t microseconds = 0; // that work has taken

  /// The default stream, which waits for all others as they do for it.
  CUstream_st defaultStream;
  unsigned streamNumber = 0;
  StreamClock host; // what the process has waited for
  /// Work that others may run beside.
  struct Done {
    unsigned stream;
    StreamClock before;
    std::string name;
    Footprints footprints;
  };
  std::vector<Done> done;
  /// Whether the process's function runs that work asked for.
  bool inHostFunction = false;
  /// Pairs of work of two streams that touch memory and may run at once.
  uint64_t overlaps = 0;

  /// The first fault. Once a synchronizing call has reported it, every call
  /// does.
  std::unique_ptr<Fault> fault;
  bool reported = false;
  /// Why the last refused call was refused.
  std::string lastRefusal;

  uint32_t nextGeneration();
  /// Makes a launch ready, or says why it cannot be.
  CUresult prepare(KernelWork &work, void **parameters, void **extra);
  void execute(const KernelWork &work);
  void execute(const CopyWork &work);
  void execute(const FillWork &work);
  void execute(const HostWork &work);
  void execute(const std::shared_ptr<const ProductWork> &work);
  void execute(const std::shared_ptr<const LibraryWork> &work);
  void execute(std::monostate) {}
  void execute(const EventWork &work);
  /// Returns what it touched, if there are other streams.
  Footprints execute(const GraphWork &work);
  /// All but the last two.
  void executeNode(const Work &work);
  /// Gives work to a stream, or makes it the next node of what the stream
  /// captures. A fault waits for the next synchronizing call, and what follows
  /// one does not run.
  CUresult enqueue(CUstream stream, Work work);
  /// Does what is before the clock, and what that waits for.
  void finish(const StreamClock &clock);
  /// The same, and the process knows of it.
  void wait(const StreamClock &clock);
  void finishAll();
  void setFault(const Fault &found);
  CUresult error(CUresult code, const std::string &text);

private:
  CUstream_st *streamOf(unsigned number);
  void finish(CUstream_st &stream, uint64_t upTo);
  void run(CUstream_st &stream, const StreamWork &work);
  void compare(Done &&latest);
};

/// Adds a node to a graph, behind others of it.
CUresult addNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
                 size_t afterCount, Work work);

/// What every call begins with: one caller at a time, and the errors of before.
struct Call {
  std::lock_guard<std::recursive_mutex> lock{Driver::instance().mutex};
  Driver &driver = Driver::instance();
  CUresult state() const {
    if (!driver.initialised)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (driver.inHostFunction) {
      driver.setFault({CUDA_ERROR_NOT_PERMITTED,
                       "a function of the host that work of the device waits "
                       "for calls the driver"});
      return CUDA_ERROR_NOT_PERMITTED;
    }
    if (driver.fault && driver.reported)
      return driver.fault->code;
    return CUDA_SUCCESS;
  }
};

} // namespace tenon::emulated

#define BEGIN_CALL                                                             \
  Call call;                                                                   \
  Driver &driver = call.driver;                                                \
  if (CUresult before = call.state())                                          \
    return before;                                                             \
  (void)driver

#endif // TENON_LIB_EMULATEDCUDA_DRIVER_H
