//===- MutantsTest.cpp - Planted faults are found, nothing else is --------===//
//
// Each kind of fault is planted into at least 20 kernels. A kernel runs as it
// is, which must report nothing, and with the fault, which must be reported in
// the right words, whatever the order of warps and blocks.
//
//===----------------------------------------------------------------------===//

#include "Device.h"
#include <functional>

using namespace tenon::test;

namespace {

/// An access per lane: how ld and st write it, and its bytes.
struct Width {
  std::string type, registers;
  unsigned bytes;
};
const Width widths[] = {
    {".b8", "%rs1", 1},           {".b16", "%rs1", 2},
    {".b32", "%r1", 4},           {".b64", "%rd20", 8},
    {".v2.b32", "{%r1, %r2}", 8}, {".v4.b32", "{%r1, %r2, %r3, %r4}", 16}};
const std::string fill =
    "mov.b16 %rs1, 7;\nmov.b32 %r1, 7;\nmov.b32 %r2, 7;\nmov.b32 %r3, 7;\n"
    "mov.b32 %r4, 7;\nmov.b64 %rd20, 7;\n";
const std::string shared = ".shared .align 16 .b8 s[16384];\n";

struct Launch {
  std::string ptx;
  unsigned blocks = 1, threads = 128;
  bool writeBuffers = true;
};

/// Runs a kernel over three buffers of 64 KB and one of 4 KB; the error's text,
/// or "".
std::string run(const Launch &launch, const std::string &order) {
  Device device({{"ORDER", order}});
  std::vector<CUdeviceptr> pointers;
  for (size_t bytes : {65536, 65536, 65536, 4096}) {
    pointers.push_back(device.allocate(bytes));
    if (launch.writeBuffers || pointers.size() > 1)
      EXPECT_EQ(cuMemsetD8Async(pointers.back(), 0, bytes, nullptr),
                CUDA_SUCCESS);
  }
  CUfunction function = device.load(launch.ptx);
  EXPECT_TRUE(function) << launch.ptx;
  if (!function)
    return tenonEmulatedCudaError();
  CUresult result =
      device.run(function, launch.blocks, launch.threads, pointers);
  EXPECT_EQ(result != CUDA_SUCCESS, *tenonEmulatedCudaError() != 0);
  return tenonEmulatedCudaError();
}

class Mutants : public testing::Test {
protected:
  void expect(const std::string &words, const Launch &good, const Launch &bad) {
    ++count;
    for (const char *order : {"forward", "reverse", "11"}) {
      EXPECT_EQ(run(good, order), "") << good.ptx;
      std::string error = run(bad, order);
      EXPECT_NE(error.find(words), std::string::npos) << error << bad.ptx;
      EXPECT_NE(error.find("PTX line "), std::string::npos) << error;
    }
  }
  void TearDown() override { EXPECT_GE(count, 20u); }
  unsigned count = 0;
};

/// %r40 = the number of a thread, %rd25 = s + bytes * %r40.
std::string place(unsigned thread, unsigned bytes) {
  return "add.s32 %r40, %r0, " + std::to_string(thread) +
         ";\nrem.u32 %r40, %r40, 128;\n" + "mul.wide.u32 %rd24, %r40, " +
         std::to_string(bytes) +
         ";\nmov.b64 %rd25, s;\nadd.s64 %rd25, %rd25, %rd24;\n";
}

TEST_F(Mutants, MissingBarrier) {
  for (const Width &width : widths)
    for (unsigned distance : {1, 3, 32, 37}) {
      auto text = [&](const std::string &barrier) {
        return kernel(fill + place(0, width.bytes) + "st.shared" + width.type +
                          " [%rd25], " + width.registers + ";\n" + barrier +
                          place(distance, width.bytes) + "ld.shared" +
                          width.type + " " + width.registers + ", [%rd25];",
                      shared + ".reg .b64 %x;\n");
      };
      // All bytes are there before, so that it is the race that is found.
      std::string before =
          place(0, 16) +
          "st.shared.v4.b32 [%rd25], {%r1, %r2, %r3, %r4};\nbar.sync 0;\n";
      auto with = [&](const std::string &barrier) {
        std::string ptx = text(barrier);
        size_t at = ptx.find(place(0, width.bytes));
        return ptx.insert(at, before);
      };
      expect("race", {with("bar.sync 0;\n")}, {with("")});
    }
}

TEST_F(Mutants, MissingWait) {
  for (unsigned bytes : {4, 8, 16})
    for (unsigned distance : {1, 32, 37}) {
      auto text = [&](const std::string &commit, const std::string &wait) {
        return kernel(
            place(0, bytes) +
                "add.s64 %rd26, %rd0, %rd24;\ncp.async.ca.shared.global "
                "[%rd25], [%rd26], " +
                std::to_string(bytes) + ";\n" + commit + wait +
                "bar.sync 0;\n" + place(distance, bytes) +
                "ld.shared.b32 %r1, [%rd25];",
            shared);
      };
      const std::string commit = "cp.async.commit_group;\n",
                        wait = "cp.async.wait_group 0;\n";
      Launch good{text(commit, wait)};
      expect("has waited", good, {text(commit, "")});
      expect("has waited", good, {text(commit, "cp.async.wait_group 1;\n")});
      expect("has waited", good, {text("", wait)});
    }
}

TEST_F(Mutants, OffByOne) {
  for (const Width &width : widths)
    for (bool isLoad : {false, true})
      for (int shift : {-1, 1}) {
        auto text = [&](int by) {
          // The fourth buffer holds 4096 bytes: 4096 / width threads fill it.
          std::string address =
              "mul.wide.u32 %rd24, %r0, " + std::to_string(width.bytes) +
              ";\nmov.u32 %r41, %ctaid.x;\nmul.wide.u32 %rd25, %r41, " +
              std::to_string(128 * width.bytes) +
              ";\nadd.s64 %rd24, %rd24, %rd25;\nadd.s64 %rd24, %rd24, %rd3;\n";
          std::string at =
              "[%rd24+" + std::to_string(by * int(width.bytes)) + "]";
          return kernel(fill + address +
                        (isLoad ? "ld.global" + width.type + " " +
                                      width.registers + ", " + at + ";"
                                : "st.global" + width.type + " " + at + ", " +
                                      width.registers + ";"));
        };
        unsigned blocks = 4096 / width.bytes / 128;
        expect("out of bounds", {text(0), blocks}, {text(shift), blocks});
      }
}

TEST_F(Mutants, Misaligned) {
  for (const Width &width : widths)
    for (std::string space : {"global", "shared"})
      for (bool isLoad : {false, true}) {
        if (width.bytes == 1)
          continue;
        for (unsigned by : {width.bytes / 2, width.bytes - 1}) {
          auto text = [&](unsigned offset) {
            std::string at = "[%rd25+" + std::to_string(offset) + "]";
            return kernel(
                fill + place(0, 16) +
                    "st.shared.v4.b32 [%rd25], {%r1, %r2, %r3, %r4};\n" +
                    (space == "global" ? "add.s64 %rd25, %rd0, %rd24;\n" : "") +
                    (isLoad ? "ld." + space + width.type + " " +
                                  width.registers + ", " + at + ";"
                            : "st." + space + width.type + " " + at + ", " +
                                  width.registers + ";"),
                shared);
          };
          expect("misaligned", {text(0)}, {text(by)});
        }
      }
}

TEST_F(Mutants, Uninitialised) {
  for (const Width &width : widths) {
    // Shared memory that nobody or only some wrote, a buffer that nobody wrote.
    auto onShared = [&](const std::string &guard) {
      return kernel(
          fill + "setp.ne.s32 %p1, %r0, 77;\n" + place(0, width.bytes) + guard +
              "st.shared" + width.type + " [%rd25], " + width.registers +
              ";\nbar.sync 0;\n" + place(1, width.bytes) + "ld.shared" +
              width.type + " " + width.registers + ", [%rd25];",
          shared);
    };
    expect("uninitialised", {onShared("")}, {onShared("@%p1 ")});
    auto onGlobal = kernel(
        place(0, width.bytes) + "add.s64 %rd26, %rd0, %rd24;\nld.global" +
            width.type + " " + width.registers + ", [%rd26];",
        shared);
    expect("uninitialised", {onGlobal}, {onGlobal, 1, 128, false});
    auto onLocal = [&](const std::string &stored) {
      return kernel(fill + stored + "ld.local" + width.type + " " +
                        width.registers + ", [l];",
                    ".local .align 16 .b8 l[16];\n");
    };
    expect(
        "uninitialised",
        {onLocal("st.local" + width.type + " [l], " + width.registers + ";\n")},
        {onLocal("")});
    auto onRegister = [&](const std::string &first) {
      return kernel(first + "st.global" + width.type + " [%rd0], " +
                    width.registers + ";");
    };
    expect("never written", {onRegister(fill), 1, 1},
           {onRegister("mov.b32 %r5, 7;"), 1, 1});
  }
}

TEST_F(Mutants, RaceBetweenBlocks) {
  const std::string block =
      "mov.u32 %r41, %ctaid.x;\nmul.wide.u32 %rd24, %r41, 2048;\n"
      "add.s64 %rd25, %rd0, %rd24;\n";
  for (const Width &width : widths) {
    auto address = [&](int shift) {
      return block + "mul.wide.u32 %rd26, %r0, " + std::to_string(width.bytes) +
             ";\nadd.s64 %rd25, %rd25, %rd26;\nadd.s64 %rd27, %rd25, " +
             std::to_string(shift) + ";\n";
    };
    auto store =
        "st.global" + width.type + " [%rd27], " + width.registers + ";\n";
    auto load =
        "ld.global" + width.type + " " + width.registers + ", [%rd27];\n";
    // One block's write in the next block's range; a read of it; all blocks
    // write one place.
    auto shifted = [&](int shift, bool reads) {
      return kernel(fill + address(0) + "st.global" + width.type +
                    " [%rd25], " + width.registers + ";\n" + address(shift) +
                    "setp.eq.s32 %p1, %r0, 0;\n@%p1 " + (reads ? load : store));
    };
    expect("race", {shifted(0, false), 3}, {shifted(2048, false), 3});
    expect("race", {shifted(0, true), 3}, {shifted(2048, true), 3});
    auto together = [&](const std::string &stride) {
      return kernel(
          fill + "mov.u32 %r41, %ctaid.x;\nmul.wide.u32 %rd24, %r41, " +
          stride +
          ";\nadd.s64 %rd27, %rd0, %rd24;\nsetp.eq.s32 %p1, %r0, 5;\n@%p1 " +
          store);
    };
    expect("race", {together("16"), 3}, {together("0"), 3});
    // The block that counts up last reads what the others wrote; without the
    // fence it races.
    auto last = [&](const std::string &fence) {
      return kernel(fill + "setp.eq.s32 %p1, %r0, 0;\n@!%p1 bra end;\n" +
                    block + "add.s64 %rd27, %rd25, 0;\n" + store + fence +
                    "atom.global.add.u32 %r42, [%rd1], 1;\n" + fence +
                    "setp.ne.s32 %p2, %r42, 2;\n@%p2 bra end;\n"
                    "add.s64 %rd27, %rd0, 0;\n" +
                    load + "add.s64 %rd27, %rd0, 2048;\n" + load +
                    "add.s64 %rd27, %rd0, 4096;\n" + load + "end:");
    };
    expect("race", {last("fence.acq_rel.gpu;\n"), 3}, {last(""), 3});
  }
}

TEST_F(Mutants, DivergentBarrier) {
  for (unsigned some : {1, 16, 31, 32, 33, 64, 100, 127}) {
    std::string test = "setp.lt.u32 %p1, %r0, " + std::to_string(some) + ";\n";
    Launch good{kernel(test + "bar.sync 0;")};
    expect("diverge", good, {kernel(test + "@%p1 bar.sync 0;")});
    expect("diverge", good, {kernel(test + "@%p1 ret;\nbar.sync 0;")});
    expect(
        "diverge", good,
        {kernel(test + "@%p1 bra over;\nbar.sync 0;\nover:\nmov.b32 %r5, 1;")});
  }
}

TEST_F(Mutants, PartialMask) {
  const std::string instructions[] = {
      "shfl.sync.bfly.b32 %r1, %r0, 1, 31, MASK;",
      "vote.sync.ballot.b32 %r1, %p2, MASK;",
      "redux.sync.add.s32 %r1, %r0, MASK;",
      "bar.warp.sync MASK;",
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%r10,%r11,%r12,%r13}, "
      "{%r0,%r0,%r0,%r0}, {%r0,%r0}, {%r0,%r0,%r0,%r0};",
      "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [s];"};
  for (const std::string &pattern : instructions)
    for (unsigned some : {1, 8, 17, 31}) {
      auto text = [&](const std::string &guard) {
        std::string instruction = pattern;
        if (size_t at = instruction.find("MASK"); at != std::string::npos)
          instruction.replace(at, 4, "-1");
        return kernel(fill + "setp.lt.u32 %p1, %r0, " + std::to_string(some) +
                          ";\nsetp.eq.s32 %p2, %r0, 0;\n" + place(0, 16) +
                          "st.shared.v4.b32 [%rd25], {%r1, %r2, %r3, "
                          "%r4};\nbar.sync 0;\n" +
                          guard + instruction,
                      shared);
      };
      expect("partial mask", {text(""), 1, 32}, {text("@%p1 "), 1, 32});
    }
}

} // namespace
