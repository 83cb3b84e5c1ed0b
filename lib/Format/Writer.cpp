//===- Writer.cpp - Writes .tenon files -----------------------------------===//
//
// Plain structs into FlatBuffers, then header, index and sections into one run
// of bytes.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Writer.h"

#include "Layout.h"
#include "tenon/Format/AtomicFile.h"
#include "tenon/Format/Index_generated.h"

#include <cstring>

using namespace tenon;
using namespace tenon::format;

namespace {

using flatbuffers::Offset;
using flatbuffers::Vector;

/// Builds the FlatBuffer of one index.
class IndexBuilder {
public:
  std::span<const uint8_t> build(const Index &index) {
    std::vector<Offset<fb::Segment>> segments;
    for (const Segment &segment : index.segments)
      segments.push_back(fb::CreateSegment(builder,
                                           fb::SegmentKind(segment.kind),
                                           segment.bytes, segment.alignment));
    std::vector<Offset<fb::Tensor>> tensors;
    for (const Tensor &tensor : index.tensors)
      tensors.push_back(build(tensor));
    std::vector<Offset<fb::Kernel>> kernels;
    for (const Kernel &kernel : index.kernels) {
      auto symbol = text(kernel.symbol), description = text(kernel.description);
      auto reads = builder.CreateVector(kernel.reads);
      kernels.push_back(fb::CreateKernel(builder, symbol, description,
                                         kernel.fallback, reads));
    }
    std::vector<Offset<fb::LibraryCallEntry>> calls;
    for (const LibraryCallEntry &entry : index.libraryCalls)
      calls.push_back(build(entry));
    std::vector<Offset<fb::EntryPoint>> entryPoints;
    for (const EntryPoint &entry : index.entryPoints) {
      auto program = build(entry.program);
      entryPoints.push_back(
          fb::CreateEntryPoint(builder, text(entry.name), program));
    }
    std::vector<Offset<fb::Certificate>> certificates;
    for (const Certificate &certificate : index.certificates) {
      auto kind = text(certificate.kind);
      certificates.push_back(
          fb::CreateCertificate(builder, kind, text(certificate.text)));
    }
    std::vector<Offset<fb::Section>> sections;
    for (const Section &section : index.sections)
      sections.push_back(fb::CreateSection(
          builder, fb::SectionKind(section.kind), section.offset, section.bytes,
          section.hashLow, section.hashHigh));
    Offset<fb::Plan> plan;
    if (index.plan)
      plan = build(*index.plan);
    auto producer = text(index.producer), name = text(index.name),
         cpu = text(index.cpu);
    auto features = texts(index.cpuFeatures);
    auto segmentList = builder.CreateVector(segments);
    auto tensorList = builder.CreateVector(tensors);
    auto kernelList = builder.CreateVector(kernels);
    auto callList = builder.CreateVector(calls);
    auto entryPointList = builder.CreateVector(entryPoints);
    auto certificateList = builder.CreateVector(certificates);
    auto sectionList = builder.CreateVector(sections);
    fb::IndexBuilder table(builder);
    table.add_version(index.version);
    table.add_producer(producer);
    table.add_name(name);
    table.add_cpu(cpu);
    table.add_cpu_features(features);
    table.add_segments(segmentList);
    table.add_tensors(tensorList);
    table.add_kernels(kernelList);
    table.add_library_calls(callList);
    table.add_entry_points(entryPointList);
    table.add_certificates(certificateList);
    table.add_sections(sectionList);
    table.add_flops(index.flops);
    table.add_subnormals(fb::Subnormals(index.subnormals));
    if (index.plan)
      table.add_plan(plan);
    fb::FinishIndexBuffer(builder, table.Finish());
    return {builder.GetBufferPointer(), builder.GetSize()};
  }

private:
  Offset<flatbuffers::String> text(const std::string &value) {
    return builder.CreateString(value);
  }

  Offset<Vector<Offset<flatbuffers::String>>>
  texts(const std::vector<std::string> &values) {
    std::vector<Offset<flatbuffers::String>> offsets;
    for (const std::string &value : values)
      offsets.push_back(text(value));
    return builder.CreateVector(offsets);
  }

  static fb::Slice slice(const Slice &value) {
    return fb::Slice(value.segment, value.offset, value.bytes);
  }

  Offset<Vector<const fb::Slice *>> slices(const std::vector<Slice> &values) {
    std::vector<fb::Slice> stored;
    for (const Slice &value : values)
      stored.push_back(slice(value));
    return builder.CreateVectorOfStructs(stored);
  }

  Offset<fb::Tensor> build(const Tensor &tensor) {
    auto name = text(tensor.name);
    auto aliases = texts(tensor.aliases);
    auto shape = builder.CreateVector(tensor.shape);
    auto storage = slice(tensor.storage);
    return fb::CreateTensor(builder, name, aliases, uint8_t(tensor.type), shape,
                            fb::Role(tensor.role), tensor.argument,
                            tensor.result, &storage);
  }

  Offset<fb::Block> build(const Block &block) {
    std::vector<Offset<fb::InstructionBox>> boxes;
    for (const Instruction &instruction : block.instructions) {
      auto [type, offset] =
          std::visit([&](const auto &operation) { return build(operation); },
                     instruction.operation);
      boxes.push_back(fb::CreateInstructionBox(builder, type, offset));
    }
    return fb::CreateBlock(builder, builder.CreateVector(boxes));
  }

  using AnyInstruction = std::pair<fb::Instruction, Offset<void>>;

  AnyInstruction build(const Launch &launch) {
    auto arguments = slices(launch.arguments);
    return {fb::Instruction_Launch,
            fb::CreateLaunch(builder, launch.kernel, arguments, launch.parts)
                .Union()};
  }
  AnyInstruction build(const LibraryCall &call) {
    auto arguments = slices(call.arguments);
    return {fb::Instruction_LibraryCall,
            fb::CreateLibraryCall(builder, call.call, arguments).Union()};
  }
  AnyInstruction build(const Copy &copy) {
    auto from = slice(copy.from), to = slice(copy.to);
    return {fb::Instruction_Copy, fb::CreateCopy(builder, &from, &to).Union()};
  }
  AnyInstruction build(const While &loop) {
    auto condition = build(loop.condition), body = build(loop.body);
    auto predicate = slice(loop.predicate);
    return {fb::Instruction_While,
            fb::CreateWhile(builder, &predicate, condition, body).Union()};
  }
  AnyInstruction build(const Case &conditional) {
    std::vector<Offset<fb::Block>> branches;
    for (const Block &branch : conditional.branches)
      branches.push_back(build(branch));
    auto list = builder.CreateVector(branches);
    auto selector = slice(conditional.selector);
    return {fb::Instruction_Case,
            fb::CreateCase(builder, &selector, list).Union()};
  }

  Offset<fb::LibraryCallEntry> build(const LibraryCallEntry &entry) {
    fb::LibraryCallDescription type;
    Offset<void> description;
    if (const auto *matmul = std::get_if<Matmul>(&entry.description)) {
      auto batch = builder.CreateVector(matmul->batch);
      auto sizes = builder.CreateVector(matmul->sizes);
      auto strides = builder.CreateVector(matmul->strides);
      type = fb::LibraryCallDescription_Matmul;
      description = fb::CreateMatmul(builder, uint8_t(matmul->lhsType),
                                     uint8_t(matmul->rhsType),
                                     uint8_t(matmul->resultType), batch, sizes,
                                     strides, matmul->epilogue, matmul->pieces)
                        .Union();
    } else if (const auto *lapack = std::get_if<Lapack>(&entry.description)) {
      auto routine = text(lapack->routine), letters = text(lapack->letters);
      auto sizes = builder.CreateVector(lapack->sizes);
      type = fb::LibraryCallDescription_Lapack;
      description = fb::CreateLapack(builder, routine, uint8_t(lapack->type),
                                     sizes, letters)
                        .Union();
    } else {
      const auto &convolution = std::get<Convolution>(entry.description);
      auto spatial = builder.CreateVector(convolution.spatial);
      auto strides = builder.CreateVector(convolution.strides);
      type = fb::LibraryCallDescription_Convolution;
      description =
          fb::CreateConvolution(builder, convolution.kind,
                                uint8_t(convolution.type), convolution.batch,
                                convolution.groups, convolution.inputChannels,
                                convolution.outputChannels, spatial, strides,
                                convolution.mirroredKernel, convolution.pieces)
              .Union();
    }
    auto library = text(entry.library), version = text(entry.libraryVersion),
         isa = text(entry.isa);
    return fb::CreateLibraryCallEntry(builder, type, description, library,
                                      version, isa, entry.workspaceBytes);
  }

  Offset<fb::PlannedOperation> build(const PlannedOperation &operation) {
    auto reads = builder.CreateVector(operation.reads),
         writes = builder.CreateVector(operation.writes),
         handovers = builder.CreateVector(operation.handovers);
    std::vector<Offset<fb::Handovers>> ends;
    for (const Handovers &pairs : operation.regionEnds)
      ends.push_back(fb::CreateHandovers(builder, builder.CreateVector(pairs)));
    auto regionEnds = builder.CreateVector(ends);
    auto joinedNodes = builder.CreateVector(operation.joinedNodes);
    return fb::CreatePlannedOperation(
        builder, operation.begin, operation.end, operation.source, reads,
        writes, handovers, regionEnds, operation.node, operation.nanoseconds,
        operation.recomputed, joinedNodes);
  }

  Offset<fb::Plan> build(const Plan &plan) {
    std::vector<Offset<fb::PlannedValue>> values;
    for (const PlannedValue &value : plan.values) {
      std::vector<fb::Lifetime> lifetimes;
      for (const Lifetime &lifetime : value.lifetimes)
        lifetimes.push_back({lifetime.begin, lifetime.end});
      auto list = builder.CreateVectorOfStructs(lifetimes);
      values.push_back(fb::CreatePlannedValue(
          builder, value.buffer, value.bytes, value.type, value.source,
          value.recomputed, list, value.problemValue));
    }
    std::vector<Offset<fb::PlannedOperation>> operations;
    for (const PlannedOperation &operation : plan.operations)
      operations.push_back(build(operation));
    auto names = texts(plan.texts);
    auto buffers = slices(plan.buffers);
    auto valueList = builder.CreateVector(values);
    auto operationList = builder.CreateVector(operations);
    auto end = builder.CreateVector(plan.end),
         initial = builder.CreateVector(plan.initial),
         results = builder.CreateVector(plan.results);
    auto problem = text(plan.recomputationProblem),
         solution = text(plan.recomputationSolution);
    return fb::CreatePlan(builder, names, buffers, valueList, operationList,
                          end, initial, results, plan.temporariesBound,
                          plan.memoryBudget, problem, solution);
  }

  flatbuffers::FlatBufferBuilder builder{1 << 16};
};

} // namespace

std::vector<std::byte>
tenon::format::write(const Index &index,
                     std::span<const SectionBytes> sections) {
  Index complete = index;
  complete.sections.clear();
  for (const SectionBytes &section : sections) {
    Hash hash = hashOf(section.bytes);
    complete.sections.push_back(
        {section.kind, 0, section.bytes.size(), hash.low, hash.high});
  }
  // Where the sections start depends on how long the index is, and its length
  // on nothing but which offsets are zero: lay out once with stand-ins.
  auto place = [&](uint64_t indexBytes) {
    uint64_t end = sizeof(Header) + indexBytes;
    for (Section &section : complete.sections) {
      section.offset = alignToSection(end);
      end = section.offset + section.bytes;
    }
    return end;
  };
  place(1);
  IndexBuilder draft;
  uint64_t indexBytes = draft.build(complete).size();
  uint64_t fileBytes = place(indexBytes);
  IndexBuilder builder;
  std::span<const uint8_t> stored = builder.build(complete);

  std::vector<std::byte> bytes(fileBytes);
  Hash hash = hashOf(std::as_bytes(stored));
  Header header{};
  std::memcpy(header.magic, magic, sizeof(magic));
  header.version = uint16_t(formatVersion);
  header.indexBytes = stored.size();
  header.hashLow = hash.low;
  header.hashHigh = hash.high;
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), stored.data(), stored.size());
  for (size_t i = 0; i < sections.size(); ++i)
    if (!sections[i].bytes.empty())
      std::memcpy(bytes.data() + complete.sections[i].offset,
                  sections[i].bytes.data(), sections[i].bytes.size());
  return bytes;
}

bool tenon::format::writeFile(const std::string &path, const Index &index,
                              std::span<const SectionBytes> sections,
                              std::string &error) {
  auto file = AtomicFile::create(path, error);
  std::vector<std::byte> bytes = write(index, sections);
  return file && file->append(bytes, error) && file->commit(error);
}
