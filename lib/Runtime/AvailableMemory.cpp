//===- AvailableMemory.cpp - How much memory this process may still take --===//
//
// See AvailableMemory.h. The files are described in proc(5), and in
// Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst of Linux.
//
//===----------------------------------------------------------------------===//

#include "AvailableMemory.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>

using namespace tenon::runtime;

namespace {

/// The number that a file consists of; nothing for "max" and without the file.
std::optional<uint64_t> numberIn(const std::string &path) {
  uint64_t value = 0;
  std::ifstream file(path);
  return file >> value ? std::optional(value) : std::nullopt;
}

/// The number behind `key` in lines of a key and a number.
std::optional<uint64_t> numberOf(const std::string &path,
                                 std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    uint64_t value = 0;
    if (words >> word >> value && word == key)
      return value;
  }
  return std::nullopt;
}

uint64_t minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

/// How the two versions of control groups name their files.
struct GroupFiles {
  const char *mount, *limit, *used;
  const char *reclaimable[3]; // of memory.stat
};
constexpr GroupFiles groupsV2{
    "/sys/fs/cgroup",
    "memory.max",
    "memory.current",
    {"inactive_file", "active_file", "slab_reclaimable"}};
constexpr GroupFiles groupsV1{
    "/sys/fs/cgroup/memory",
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    {"total_inactive_file", "total_active_file", "slab_reclaimable"}};

class Limits {
public:
  explicit Limits(const std::string &root) : root(root) {}

  AvailableMemory narrowest() {
    readMachine();
    readGroups();
    readProcess();
    return found;
  }

private:
  void take(uint64_t bytes, const std::string &limit) {
    if (bytes < found.bytes)
      found = {bytes, limit};
  }

  void readMachine() {
    std::string file = root + "/proc/meminfo";
    freeSwap = numberOf(file, "SwapFree:").value_or(0) * 1024;
    if (auto available = numberOf(file, "MemAvailable:"))
      take(*available * 1024 + freeSwap, "on this machine");
  }

  void readGroups() {
    std::ifstream file(root + "/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
      // hierarchy:controllers:path
      size_t first = line.find(':');
      size_t second = line.find(':', first + 1);
      if (second == std::string::npos)
        continue;
      std::string controllers =
          "," + line.substr(first + 1, second - first - 1) + ",";
      bool isV2 = controllers == ",,";
      if (isV2 || controllers.find(",memory,") != std::string::npos)
        readGroup(isV2 ? groupsV2 : groupsV1, line.substr(second + 1));
    }
  }

  /// A group and those it is in. In a container the path may be that of the
  /// machine, while the container's own group is where the root is.
  void readGroup(const GroupFiles &files, std::string path) {
    while (true) {
      std::string folder = root + files.mount + path + "/";
      auto limit = numberIn(folder + files.limit);
      auto used = numberIn(folder + files.used);
      if (limit && used) {
        uint64_t reclaimable = 0;
        for (const char *key : files.reclaimable)
          reclaimable += numberOf(folder + "memory.stat", key).value_or(0);
        uint64_t swap = freeSwap;
        if (auto mostSwap = numberIn(folder + "memory.swap.max"))
          swap = std::min(
              swap,
              minus(*mostSwap,
                    numberIn(folder + "memory.swap.current").value_or(0)));
        take(minus(*limit, minus(*used, reclaimable)) + swap,
             "under the memory limit of control group '" +
                 (path.empty() ? "/" : path) + "'");
      }
      if (path.empty())
        return;
      path.erase(std::min(path.find_last_of('/'), path.size() - 1));
    }
  }

  void readProcess() {
    // In pages: all of it, resident, shared, text, unused, data.
    std::ifstream file(root + "/proc/self/statm");
    uint64_t size = 0, skipped = 0, data = 0;
    if (!(file >> size >> skipped >> skipped >> skipped >> skipped >> data))
      return;
    auto page = uint64_t(sysconf(_SC_PAGESIZE));
    auto takeLimit = [&](auto resource, uint64_t used, const char *limit) {
      rlimit given;
      if (getrlimit(resource, &given) == 0 && given.rlim_cur != RLIM_INFINITY)
        take(minus(given.rlim_cur, used), limit);
    };
    takeLimit(RLIMIT_AS, size * page,
              "under the limit of address space (ulimit -v)");
    takeLimit(RLIMIT_DATA, data * page, "under the limit of data (ulimit -d)");
  }

  const std::string &root;
  uint64_t freeSwap = 0;
  AvailableMemory found;
};

} // namespace

AvailableMemory tenon::runtime::availableMemory(const std::string &root) {
  return Limits(root).narrowest();
}
