//===- NcclTest.cpp - Ranks that exchange bytes by the emulated NCCL ------===//
//
// Each rank is a process of its own, which this one starts. What ranks do that
// do not fit together is said by one of them or by all.
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include "tenon/Libraries/Nccl.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

/// A rank at work, in its own process.
class Rank {
public:
  Rank(int number, int count) : number(number), count(count) {
    setenv("TENON_EMULATED_CUDA_GPUS", "4", 1);
    tenonEmulatedCudaReset();
    CUcontext context;
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, number);
    cuCtxSetCurrent(context);
    cuStreamCreate(&stream, 1);
  }

  ncclComm_t meet(const ncclUniqueId &id) {
    ncclComm_t ranks = nullptr;
    ncclCommInitRank(&ranks, count, id, number);
    return ranks;
  }

  /// Memory of the device with so many elements, each of which is the value.
  CUdeviceptr memory(size_t elements, unsigned value) {
    CUdeviceptr address = 0;
    cuMemAlloc_v2(&address, elements * 4);
    cuMemsetD32Async(address, value, elements, stream);
    return address;
  }
  unsigned valueAt(CUdeviceptr address, size_t element) {
    unsigned value = 0;
    cuMemcpyDtoHAsync_v2(&value, address + element * 4, 4, stream);
    cuStreamSynchronize(stream);
    return value;
  }

  void gather(ncclComm_t ranks, size_t elements = 4,
              ncclDataType_t type = ncclFloat32) {
    ncclAllGather(at(memory(elements, 1)),
                  at(memory(elements * size_t(count), 0)), elements, type,
                  ranks, stream);
  }
  void send(ncclComm_t ranks, int peer, size_t elements = 4) {
    ncclSend(at(memory(elements, 1)), elements, ncclFloat32, peer, ranks,
             stream);
  }
  void receive(ncclComm_t ranks, int peer) {
    ncclRecv(at(memory(4, 0)), 4, ncclFloat32, peer, ranks, stream);
  }

  CUgraphExec captured(const std::function<void()> &body) {
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    body();
    cuStreamEndCapture(stream, &graph);
    cuGraphInstantiateWithFlags(&executable, graph, 0);
    cuGraphDestroy(graph);
    return executable;
  }
  void launch(CUgraphExec graph) { cuGraphLaunch(graph, stream); }

  static void *at(CUdeviceptr address) {
    return reinterpret_cast<void *>(address);
  }

  const int number, count;
  CUstream stream = nullptr;
};

using Body = std::function<std::string(Rank &rank, ncclComm_t ranks)>;

/// What each rank says in the end: what `body` does, or else of a fault.
std::vector<std::string> run(int count, const Body &body) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  std::vector<int> pipes;
  for (int number = 0; number < count; ++number) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    if (fork() == 0) {
      alarm(60); // nothing hangs
      Rank rank(number, count);
      std::string said = body(rank, rank.meet(id));
      cuStreamSynchronize(rank.stream);
      if (said.empty())
        said = tenonEmulatedCudaError();
      if (write(ends[1], said.data(), said.size()) < 0)
        _exit(1);
      _exit(0);
    }
    close(ends[1]);
    pipes.push_back(ends[0]);
  }
  std::vector<std::string> said;
  for (int from : pipes) {
    std::string &text = said.emplace_back();
    char buffer[512];
    for (ssize_t size; (size = read(from, buffer, sizeof(buffer))) > 0;)
      text.append(buffer, size_t(size));
    close(from);
  }
  for (int status, i = 0; i < count; ++i) {
    wait(&status);
    EXPECT_TRUE(WIFEXITED(status));
  }
  return said;
}

/// Has two ranks do what does not fit together, which one of them has to say.
void expectSaid(const char *part, const Body &body) {
  const std::vector<std::string> said = run(2, body);
  EXPECT_TRUE(said[0].find(part) != said[0].npos ||
              said[1].find(part) != said[1].npos)
      << said[0] << "\n"
      << said[1];
}

TEST(Nccl, MovesBytesInEveryLaunch) {
  const auto said = run(3, [](Rank &rank, ncclComm_t ranks) -> std::string {
    const auto own = unsigned(rank.number);
    CUdeviceptr from = rank.memory(300, 10 * own), all = rank.memory(900, 99),
                rows = rank.memory(3, 99), back = rank.memory(3, 99);
    for (unsigned i = 0; i < 3; ++i)
      cuMemsetD32Async(rows + 4 * i, 100 * own + i, 1, rank.stream);
    CUgraphExec graph = rank.captured([&] {
      ncclAllGather(Rank::at(from), Rank::at(all), 300, ncclUint32, ranks,
                    rank.stream);
      ncclGroupStart();
      for (int peer = 0; peer < 3; ++peer) {
        ncclSend(Rank::at(rows + 4 * CUdeviceptr(peer)), 1, ncclUint32, peer,
                 ranks, rank.stream);
        ncclRecv(Rank::at(back + 4 * CUdeviceptr(peer)), 1, ncclUint32, peer,
                 ranks, rank.stream);
      }
      ncclGroupEnd();
    });
    for (unsigned round = 0; round < 2; ++round) {
      cuMemsetD32Async(from, 10 * own + round, 300, rank.stream);
      rank.launch(graph);
      for (unsigned peer = 0; peer < 3; ++peer)
        if (rank.valueAt(all, 300 * peer + 299) != 10 * peer + round ||
            rank.valueAt(back, peer) != 100 * peer + own)
          return "other bytes";
    }
    cuGraphExecDestroy(graph);
    return ncclCommDestroy(ranks) == ncclSuccess ? "" : ncclGetLastError(ranks);
  });
  EXPECT_EQ(said, std::vector<std::string>(3));
}

TEST(Nccl, CombinesInAnOrderOfItsOwn) {
  const auto said = run(3, [](Rank &rank, ncclComm_t ranks) -> std::string {
    const auto own = unsigned(rank.number);
    // 1, -1 and 2^-25 in f32: 0 from the last rank on, 2^-25 from the first.
    constexpr unsigned parts[] = {0x3f800000, 0xbf800000, 0x33000000};
    CUdeviceptr terms = rank.memory(6, parts[own]), sum = rank.memory(6, 99),
                numbers = rank.memory(6, 0), most = rank.memory(2, 99);
    for (unsigned i = 0; i < 6; ++i)
      cuMemsetD32Async(numbers + 4 * i, 10 * i + own, 1, rank.stream);
    CUgraphExec graph = rank.captured([&] {
      ncclAllReduce(Rank::at(terms), Rank::at(sum), 6, ncclFloat32, ncclSum,
                    ranks, rank.stream);
      ncclReduceScatter(Rank::at(numbers), Rank::at(most), 2, ncclUint32,
                        ncclMax, ranks, rank.stream);
    });
    for (unsigned round = 0; round < 2; ++round) {
      rank.launch(graph);
      if (rank.valueAt(sum, 5) != 0 || rank.valueAt(sum, 0) != 0)
        return "another sum";
      for (unsigned i = 0; i < 2; ++i)
        if (rank.valueAt(most, i) != 10 * (2 * own + i) + 2)
          return "another maximum";
    }
    cuGraphExecDestroy(graph);
    return ncclCommDestroy(ranks) == ncclSuccess ? "" : ncclGetLastError(ranks);
  });
  EXPECT_EQ(said, std::vector<std::string>(3));
}

TEST(Nccl, ReductionsFitTogether) {
  auto reduced = [](ncclRedOp_t other, bool scatters) {
    return [=](Rank &rank, ncclComm_t ranks) {
      CUdeviceptr from = rank.memory(8, 1), to = rank.memory(8, 0);
      const bool isOther = rank.number == 0;
      if (scatters && isOther)
        ncclReduceScatter(Rank::at(from), Rank::at(to), 4, ncclFloat32, ncclSum,
                          ranks, rank.stream);
      else
        ncclAllReduce(Rank::at(from), Rank::at(to), 4, ncclFloat32,
                      isOther ? other : ncclSum, ranks, rank.stream);
      return "";
    };
  };
  expectSaid("comes with an all-reduce (maximum) of 4 float32",
             reduced(ncclMax, /*scatters=*/false));
  expectSaid("comes with a reduce-scatter (sum) of 4 float32",
             reduced(ncclSum, /*scatters=*/true));
  expectSaid("operation 1 is not emulated", [](Rank &rank, ncclComm_t ranks) {
    CUdeviceptr from = rank.memory(4, 1), to = rank.memory(4, 0);
    ncclAllReduce(Rank::at(from), Rank::at(to), 4, ncclFloat32, ncclProd, ranks,
                  rank.stream);
    return ncclGetLastError(ranks);
  });
}

TEST(Nccl, SaysWhatDoesNotFit) {
  expectSaid("comes with an all-gather of 5 float32, which is not captured, "
             "and rank",
             [](Rank &rank, ncclComm_t ranks) {
               rank.gather(ranks, rank.number == 0 ? 4 : 5);
               return "";
             });
  expectSaid(
      "comes with an all-gather of 4 int32", [](Rank &rank, ncclComm_t ranks) {
        rank.gather(ranks, 4, rank.number == 0 ? ncclFloat32 : ncclInt32);
        return "";
      });
  // In another order.
  expectSaid("comes with an all-gather of 8 float32",
             [](Rank &rank, ncclComm_t ranks) {
               rank.gather(ranks, rank.number == 0 ? 4 : 8);
               rank.gather(ranks, rank.number == 0 ? 8 : 4);
               return "";
             });
}

TEST(Nccl, PairsSendsAndReceives) {
  expectSaid("comes with a send of 4 float32, which is not captured, and rank "
             "1 expects an all-gather",
             [](Rank &rank, ncclComm_t ranks) {
               if (rank.number == 0)
                 rank.send(ranks, 1);
               rank.gather(ranks);
               return "";
             });
  // The other rank has failed and ended before this one comes again.
  expectSaid("rank 1 has failed, and rank 0 waits for it",
             [](Rank &rank, ncclComm_t ranks) {
               if (rank.number == 0) {
                 rank.send(ranks, 1);
                 std::this_thread::sleep_for(std::chrono::milliseconds(300));
               }
               rank.gather(ranks);
               return "";
             });
  // It ends while this one sends more than a connection holds, and what it sent
  // before stands in front of its last word.
  expectSaid("rank 1 has failed, and rank 0 waits for it",
             [](Rank &rank, ncclComm_t ranks) {
               if (rank.number == 0)
                 rank.send(ranks, 1, 1 << 20);
               else
                 rank.gather(ranks);
               return "";
             });
  expectSaid("which waits for 4 float32 by rank",
             [](Rank &rank, ncclComm_t ranks) {
               rank.receive(ranks, 1 - rank.number);
               return "";
             });
  expectSaid("has 1 sends to itself and 0 receives",
             [](Rank &rank, ncclComm_t ranks) {
               rank.send(ranks, rank.number);
               return "";
             });
}

TEST(Nccl, CapturesAreUniform) {
  expectSaid("captured call 0, and rank 1 expects an all-gather of 4 float32, "
             "which is not captured",
             [](Rank &rank, ncclComm_t ranks) {
               if (rank.number == 0)
                 rank.launch(rank.captured([&] { rank.gather(ranks); }));
               else
                 rank.gather(ranks);
               return "";
             });
  // Alike but for the order in which they were captured.
  expectSaid("captured call 1, and rank", [](Rank &rank, ncclComm_t ranks) {
    CUgraphExec first = rank.captured([&] { rank.gather(ranks); });
    CUgraphExec second = rank.captured([&] { rank.gather(ranks); });
    rank.launch(rank.number == 0 ? first : second);
    rank.launch(rank.number == 0 ? second : first);
    return "";
  });
}

TEST(Nccl, CommunicatorsAreUsedInOneOrder) {
  ncclUniqueId other;
  ncclGetUniqueId(&other);
  expectSaid("waits in one communicator for a rank that came to another",
             [other](Rank &rank, ncclComm_t ranks) {
               ncclComm_t others = rank.meet(other);
               rank.gather(rank.number == 0 ? ranks : others);
               rank.gather(rank.number == 0 ? others : ranks);
               return "";
             });
}

TEST(Nccl, OneCallOfACommunicatorAtATime) {
  expectSaid("race between streams: NCCL's all-gather and NCCL's all-gather",
             [](Rank &rank, ncclComm_t ranks) {
               CUstream other = nullptr;
               cuStreamCreate(&other, 1);
               CUdeviceptr from = rank.memory(8, 1), to = rank.memory(16, 0);
               cuStreamSynchronize(rank.stream);
               for (CUdeviceptr part : {0, 1})
                 ncclAllGather(Rank::at(from + 16 * part),
                               Rank::at(to + 32 * part), 4, ncclFloat32, ranks,
                               part == 0 ? rank.stream : other);
               return "";
             });
}

TEST(Nccl, ChecksMemory) {
  expectSaid("uninitialised: NCCL's all-gather reads 16 bytes",
             [](Rank &rank, ncclComm_t ranks) {
               CUdeviceptr never = 0;
               cuMemAlloc_v2(&never, 16);
               if (rank.number == 1) {
                 ncclCommDestroy(ranks);
                 return "left";
               }
               ncclAllGather(Rank::at(never), Rank::at(rank.memory(8, 0)), 4,
                             ncclFloat32, ranks, rank.stream);
               return "";
             });
  expectSaid("out of bounds: NCCL's all-gather writes 32 bytes",
             [](Rank &rank, ncclComm_t ranks) {
               if (rank.number == 1) {
                 ncclCommDestroy(ranks);
                 return "left";
               }
               ncclAllGather(Rank::at(rank.memory(4, 0)),
                             Rank::at(rank.memory(7, 0)), 4, ncclFloat32, ranks,
                             rank.stream);
               return "";
             });
}

TEST(Nccl, SaysWhoHasLeft) {
  expectSaid("rank 1 has left the communicator, and rank 0 waits for it",
             [](Rank &rank, ncclComm_t ranks) {
               if (rank.number == 1) {
                 ncclCommDestroy(ranks);
                 return "left";
               }
               rank.gather(ranks);
               return "";
             });
  expectSaid("before a graph that has its calls",
             [](Rank &rank, ncclComm_t ranks) {
               CUgraphExec graph = rank.captured([&] { rank.gather(ranks); });
               ncclCommDestroy(ranks);
               cuGraphExecDestroy(graph);
               return ncclGetLastError(ranks);
             });
}

TEST(Nccl, WaitsForTheDeadUntilItIsAborted) {
  const auto said = run(2, [](Rank &rank, ncclComm_t ranks) -> std::string {
    if (rank.number == 1)
      _exit(0);
    std::atomic<bool> isAborted = false;
    std::thread watch([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(600));
      isAborted = true;
      ncclCommAbort(ranks);
    });
    CUgraphExec graph = rank.captured([&] { rank.gather(ranks); });
    rank.launch(graph);
    const CUresult ended = cuStreamSynchronize(rank.stream);
    const bool hasWaited = isAborted;
    watch.join();
    return hasWaited && ended == CUDA_SUCCESS ? "ended" : "too early";
  });
  EXPECT_EQ(said[0], "ended");
}

TEST(Nccl, RanksThatDoNotBelongTogetherDoNotMeet) {
  ncclUniqueId other;
  ncclGetUniqueId(&other);
  expectSaid("meets 3 ranks", [other](Rank &rank, ncclComm_t) {
    ncclComm_t ranks = nullptr;
    ncclCommInitRank(&ranks, 2 + rank.number, other, rank.number);
    return ncclGetLastError(nullptr);
  });
  ncclGetUniqueId(&other);
  expectSaid("have the same GPU, number 0", [other](Rank &rank, ncclComm_t) {
    CUcontext context;
    tenonEmulatedCudaReset();
    rank.stream = nullptr;
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    ncclComm_t ranks = nullptr;
    ncclCommInitRank(&ranks, 2, other, rank.number);
    return ncclGetLastError(nullptr);
  });
}

} // namespace
