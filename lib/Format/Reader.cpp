//===- Reader.cpp - Reads and checks .tenon files -------------------------===//
//
// Header, hash, FlatBuffers verifier, copy into plain structs, whyInvalid: in
// this order, each only after the one before it has passed.
//
// An offset may lead to bytes that another one leads to as well, so a small
// index can stand for a large one: a thousand tensors that share one list of a
// thousand names have a million. The writer stores everything once. So an index
// is damaged if what it stands for is longer than it, and neither the verifier
// nor the copy looks at more.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Reader.h"

#include "Layout.h"
#include "tenon/Format/Index_generated.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tenon;
using namespace tenon::format;

namespace {

/// Bytes that a string, a vector or a table takes in an index, without what it
/// leads to: its length or the offset of its fields, and its elements.
uint64_t storedBytes(const flatbuffers::String *value) {
  return value ? sizeof(flatbuffers::uoffset_t) + value->size() + 1 : 0;
}
template <typename Element>
uint64_t storedBytes(const flatbuffers::Vector<Element> *value) {
  using Stored = std::remove_pointer_t<Element>;
  return value ? sizeof(flatbuffers::uoffset_t) +
                     uint64_t(value->size()) * sizeof(Stored)
               : 0;
}
template <typename Table>
uint64_t
storedBytes(const flatbuffers::Vector<flatbuffers::Offset<Table>> *value) {
  return value ? sizeof(flatbuffers::uoffset_t) +
                     uint64_t(value->size()) * sizeof(flatbuffers::uoffset_t)
               : 0;
}
constexpr uint64_t tableBytes = sizeof(flatbuffers::soffset_t);

/// The verifier counts tables, but not what lists of strings lead to. Whether
/// those of all tensors are longer together than the index; false where it is
/// no valid FlatBuffer, which is for the verifier to say.
bool sharesNames(std::span<const std::byte> stored) {
  const auto *bytes = reinterpret_cast<const uint8_t *>(stored.data());
  flatbuffers::Verifier verifier(bytes, stored.size(), /*max_depth=*/3,
                                 /*max_tables=*/uint32_t(stored.size()));
  auto start = verifier.VerifyOffset(0);
  auto field = [&](const uint8_t *table, flatbuffers::voffset_t number) {
    return reinterpret_cast<const flatbuffers::Table *>(table)
        ->GetPointer<const uint8_t *>(number);
  };
  auto isSound = [&](const uint8_t *table, flatbuffers::voffset_t number) {
    const auto *fields = reinterpret_cast<const flatbuffers::Table *>(table);
    bool sound = fields->VerifyTableStart(verifier) &&
                 fields->VerifyOffset(verifier, number);
    verifier.EndTable();
    return sound;
  };
  if (start == 0 || !isSound(bytes + start, fb::Index::VT_TENSORS))
    return false;
  using Tensors = flatbuffers::Vector<flatbuffers::Offset<fb::Tensor>>;
  using Names = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;
  const auto *tensors = reinterpret_cast<const Tensors *>(
      field(bytes + start, fb::Index::VT_TENSORS));
  if (!tensors || !verifier.VerifyVector(tensors))
    return false;
  uint64_t sum = 0;
  for (flatbuffers::uoffset_t i = 0; i < tensors->size(); ++i) {
    const auto *tensor = reinterpret_cast<const uint8_t *>(tensors->Get(i));
    if (!isSound(tensor, fb::Tensor::VT_ALIASES))
      return false;
    const auto *names =
        reinterpret_cast<const Names *>(field(tensor, fb::Tensor::VT_ALIASES));
    if (!verifier.VerifyVector(names))
      return false;
    sum += storedBytes(names);
  }
  return sum > stored.size();
}

/// Copies a verified FlatBuffer into plain structs. The verifier has checked
/// every offset; what may still be missing is optional fields, which
/// FlatBuffers returns as null.
class IndexLoader {
public:
  /// Of an index of so many bytes.
  explicit IndexLoader(uint64_t indexBytes) : left(indexBytes) {}

  /// Empty, or what is wrong with the index.
  std::string load(const fb::Index &table, Index &index) {
    index.version = table.version();
    index.producer = text(table.producer());
    index.name = text(table.name());
    index.cpu = text(table.cpu());
    index.cpuFeatures = texts(table.cpu_features());
    index.flops = table.flops();
    index.subnormals = Subnormals(table.subnormals());
    each(table.segments(), [&](const fb::Segment &segment) {
      index.segments.push_back(
          {SegmentKind(segment.kind()), segment.bytes(), segment.alignment()});
    });
    each(table.tensors(), [&](const fb::Tensor &tensor) {
      index.tensors.push_back({text(tensor.name()), texts(tensor.aliases()),
                               ElementType(tensor.type()),
                               numbers(tensor.shape()), Role(tensor.role()),
                               tensor.argument(), tensor.result(),
                               slice(tensor.storage())});
    });
    each(table.kernels(), [&](const fb::Kernel &kernel) {
      index.kernels.push_back({text(kernel.symbol()),
                               text(kernel.description()), kernel.fallback(),
                               numbers(kernel.reads())});
    });
    each(table.library_calls(), [&](const fb::LibraryCallEntry &entry) {
      load(entry, index.libraryCalls.emplace_back());
    });
    each(table.entry_points(), [&](const fb::EntryPoint &entry) {
      EntryPoint &result = index.entryPoints.emplace_back();
      result.name = text(entry.name());
      load(entry.program(), result.program, 0);
    });
    each(table.certificates(), [&](const fb::Certificate &certificate) {
      index.certificates.push_back(
          {text(certificate.kind()), text(certificate.text())});
    });
    each(table.sections(), [&](const fb::Section &section) {
      index.sections.push_back({SectionKind(section.kind()), section.offset(),
                                section.bytes(), section.hash_low(),
                                section.hash_high()});
    });
    if (const fb::Plan *plan = table.plan())
      load(*plan, index.plan.emplace());
    return isShared   ? "its index uses the same bytes again and again"
           : complete ? ""
                      : "its index is incomplete";
  }

private:
  /// Whether so many more bytes are there to copy.
  bool take(uint64_t bytes) {
    isShared |= bytes > left;
    left -= isShared ? left : bytes;
    return !isShared;
  }

  std::string text(const flatbuffers::String *value) {
    return value && take(storedBytes(value)) ? value->str() : std::string();
  }

  template <typename Vector, typename Function>
  void each(const Vector *vector, Function function) {
    if (!vector || !take(storedBytes(vector)))
      return;
    for (const auto *element : *vector) {
      if (!take(tableBytes))
        return;
      function(*element);
    }
  }

  /// The verifier aligns a vector's length, and tables, but no structs in it.
  template <typename Struct, typename Function>
  void each(const flatbuffers::Vector<const Struct *> *vector,
            Function function) {
    if (vector &&
        reinterpret_cast<uintptr_t>(vector->Data()) % alignof(Struct) != 0)
      complete = false;
    else if (vector && take(storedBytes(vector)))
      for (const Struct *element : *vector)
        function(*element);
  }

  std::vector<std::string>
  texts(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>
            *values) {
    std::vector<std::string> result;
    if (!values || !take(storedBytes(values)))
      return result;
    for (const auto *value : *values) {
      if (isShared)
        break;
      result.push_back(text(value));
    }
    return result;
  }

  /// Copied as bytes: the verifier aligns a vector's length, not its elements.
  template <typename Number>
  std::vector<Number> numbers(const flatbuffers::Vector<Number> *values) {
    std::vector<Number> result(
        values && take(storedBytes(values)) ? values->size() : 0);
    if (!result.empty())
      std::memcpy(result.data(), values->Data(),
                  result.size() * sizeof(Number));
    return result;
  }

  Slice slice(const fb::Slice *value) {
    if (!value) {
      complete = false;
      return {};
    }
    return {value->segment(), value->offset(), value->bytes()};
  }

  void load(const fb::LibraryCallEntry &entry, LibraryCallEntry &result) {
    result.library = text(entry.library());
    result.libraryVersion = text(entry.library_version());
    result.isa = text(entry.isa());
    result.workspaceBytes = entry.workspace_bytes();
    if (const auto *matmul = entry.description_as_Matmul()) {
      Matmul value;
      value.lhsType = ElementType(matmul->lhs_type());
      value.rhsType = ElementType(matmul->rhs_type());
      value.resultType = ElementType(matmul->result_type());
      value.batch = numbers(matmul->batch());
      value.sizes = numbers(matmul->sizes());
      value.strides = numbers(matmul->strides());
      value.epilogue = matmul->epilogue();
      value.pieces = matmul->pieces();
      result.description = std::move(value);
    } else if (const auto *convolution = entry.description_as_Convolution()) {
      Convolution value;
      value.kind = convolution->kind();
      value.type = ElementType(convolution->type());
      value.batch = convolution->batch();
      value.groups = convolution->groups();
      value.inputChannels = convolution->input_channels();
      value.outputChannels = convolution->output_channels();
      value.spatial = numbers(convolution->spatial());
      value.strides = numbers(convolution->strides());
      value.mirroredKernel = convolution->mirrored_kernel();
      value.pieces = convolution->pieces();
      result.description = std::move(value);
    } else if (const auto *lapack = entry.description_as_Lapack()) {
      Lapack value;
      value.routine = text(lapack->routine());
      value.type = ElementType(lapack->type());
      value.sizes = numbers(lapack->sizes());
      value.letters = text(lapack->letters());
      result.description = std::move(value);
    } else {
      complete = false;
    }
  }

  void load(const fb::Block *block, Block &result, int nesting) {
    if (!block || nesting > maxProgramNesting) {
      complete = false;
      return;
    }
    each(block->instructions(), [&](const fb::InstructionBox &box) {
      load(box, result.instructions.emplace_back(), nesting);
    });
  }

  void load(const fb::InstructionBox &box, Instruction &result, int nesting) {
    auto slices = [&](const auto *vector) {
      std::vector<Slice> list;
      each(vector,
           [&](const fb::Slice &value) { list.push_back(slice(&value)); });
      return list;
    };
    if (const auto *launch = box.instruction_as_Launch()) {
      result.operation = Launch{launch->kernel(), slices(launch->arguments()),
                                launch->parts()};
    } else if (const auto *call = box.instruction_as_LibraryCall()) {
      result.operation = LibraryCall{call->call(), slices(call->arguments())};
    } else if (const auto *copy = box.instruction_as_Copy()) {
      result.operation = Copy{slice(copy->from()), slice(copy->to())};
    } else if (const auto *loop = box.instruction_as_While()) {
      While value;
      value.predicate = slice(loop->predicate());
      load(loop->condition(), value.condition, nesting + 1);
      load(loop->body(), value.body, nesting + 1);
      result.operation = std::move(value);
    } else if (const auto *conditional = box.instruction_as_Case()) {
      Case value;
      value.selector = slice(conditional->selector());
      each(conditional->branches(), [&](const fb::Block &branch) {
        load(&branch, value.branches.emplace_back(), nesting + 1);
      });
      result.operation = std::move(value);
    } else {
      complete = false;
    }
  }

  void load(const fb::Plan &plan, Plan &result) {
    result.texts = texts(plan.texts());
    each(plan.buffers(), [&](const fb::Slice &buffer) {
      result.buffers.push_back(slice(&buffer));
    });
    each(plan.values(), [&](const fb::PlannedValue &value) {
      PlannedValue &loaded = result.values.emplace_back();
      loaded = {value.buffer(),       value.bytes(),      value.type(),
                value.source(),       value.recomputed(), {},
                value.problem_value()};
      each(value.lifetimes(), [&](const fb::Lifetime &lifetime) {
        loaded.lifetimes.push_back({lifetime.begin(), lifetime.end()});
      });
    });
    each(plan.operations(), [&](const fb::PlannedOperation &operation) {
      PlannedOperation &loaded = result.operations.emplace_back();
      loaded.begin = operation.begin();
      loaded.end = operation.end();
      loaded.source = operation.source();
      loaded.reads = numbers(operation.reads());
      loaded.writes = numbers(operation.writes());
      loaded.handovers = numbers(operation.handovers());
      each(operation.region_ends(), [&](const fb::Handovers &handovers) {
        loaded.regionEnds.push_back(numbers(handovers.pairs()));
      });
      loaded.node = operation.node();
      loaded.nanoseconds = operation.nanoseconds();
      loaded.recomputed = operation.recomputed();
      loaded.joinedNodes = numbers(operation.joined_nodes());
    });
    result.end = numbers(plan.end());
    result.initial = numbers(plan.initial());
    result.results = numbers(plan.results());
    result.temporariesBound = plan.temporaries_bound();
    result.memoryBudget = plan.memory_budget();
    result.recomputationProblem = text(plan.recomputation_problem());
    result.recomputationSolution = text(plan.recomputation_solution());
  }

  bool complete = true;
  uint64_t left; // bytes of the index that were not copied yet
  bool isShared = false;
};

/// Sections lie behind the index, aligned, inside the file and apart.
std::string whyMisplaced(const std::vector<Section> &sections,
                         uint64_t indexEnd, uint64_t fileBytes) {
  uint64_t end = indexEnd;
  bool seen[2] = {};
  for (const Section &section : sections) {
    if (section.kind > SectionKind::cpuKernels || seen[size_t(section.kind)])
      return "a section is of unknown kind or there twice";
    seen[size_t(section.kind)] = true;
    if (section.offset % sectionAlignment != 0 || section.offset < end ||
        section.offset > fileBytes ||
        section.bytes > fileBytes - section.offset)
      return "section " + std::string(name(section.kind)) + " at byte " +
             std::to_string(section.offset) + " with " +
             std::to_string(section.bytes) + " bytes does not fit in " +
             std::to_string(fileBytes) + " bytes";
    end = section.offset + section.bytes;
  }
  return "";
}

} // namespace

Reader::~Reader() {
  if (file >= 0)
    close(file);
}

std::unique_ptr<Reader> Reader::open(const std::string &path,
                                     std::string &error) {
  std::unique_ptr<Reader> reader(new Reader);
  reader->file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (reader->file < 0 || fstat(reader->file, &status) != 0) {
    error = "cannot open '" + path + "': " + std::strerror(errno);
    return nullptr;
  }
  if (!S_ISREG(status.st_mode)) {
    error = "'" + path + "' is not a file";
    return nullptr;
  }
  reader->fileBytes = uint64_t(status.st_size);
  if (!reader->load(error)) {
    error = "'" + path + "': " + error;
    return nullptr;
  }
  return reader;
}

std::unique_ptr<Reader> Reader::fromBytes(std::vector<std::byte> bytes,
                                          std::string &error) {
  std::unique_ptr<Reader> reader(new Reader);
  reader->memory = std::move(bytes);
  reader->fileBytes = reader->memory.size();
  if (!reader->load(error))
    return nullptr;
  return reader;
}

bool Reader::readAt(uint64_t offset, std::span<std::byte> into,
                    std::string &error) const {
  if (file < 0) {
    if (offset > memory.size() || into.size() > memory.size() - offset) {
      error = "the file ends early";
      return false;
    }
    if (!into.empty())
      std::memcpy(into.data(), memory.data() + offset, into.size());
    return true;
  }
  while (!into.empty()) {
    ssize_t got = pread(file, into.data(), into.size(), off_t(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      error = got < 0
                  ? std::string("cannot read the file: ") + std::strerror(errno)
                  : "the file ends early";
      return false;
    }
    into = into.subspan(size_t(got));
    offset += uint64_t(got);
  }
  return true;
}

bool Reader::load(std::string &error) {
  Header header;
  if (fileBytes < sizeof(header)) {
    error = "not a .tenon file: " + std::to_string(fileBytes) +
            " bytes are less than its header";
    return false;
  }
  if (!readAt(0, std::as_writable_bytes(std::span(&header, 1)), error))
    return false;
  if (std::memcmp(header.magic, magic, sizeof(magic)) != 0) {
    error = "not a .tenon file: it does not start with TENON";
    return false;
  }
  if (header.version != formatVersion) {
    error = "the file has format version " + std::to_string(header.version) +
            ", this program reads version " + std::to_string(formatVersion) +
            "; compile the step again";
    return false;
  }
  if (header.indexBytes > maxIndexBytes ||
      header.indexBytes > fileBytes - sizeof(header)) {
    error = "the file is damaged: its index of " +
            std::to_string(header.indexBytes) + " bytes does not fit in " +
            std::to_string(fileBytes) + " bytes";
    return false;
  }
  std::vector<std::byte> stored(header.indexBytes);
  if (!readAt(sizeof(header), stored, error))
    return false;
  if (hashOf(stored) != Hash{header.hashLow, header.hashHigh}) {
    error = "the file is damaged: its index does not have the hash it should";
    return false;
  }
  // A nesting level of the program takes three levels of tables. A table that
  // is stored once takes the offset that leads to it, and its own bytes.
  constexpr uint64_t leastPerTable =
      sizeof(flatbuffers::uoffset_t) + tableBytes;
  flatbuffers::Verifier verifier(
      reinterpret_cast<const uint8_t *>(stored.data()), stored.size(),
      /*max_depth=*/4 * maxProgramNesting,
      /*max_tables=*/uint32_t(stored.size() / leastPerTable));
  std::string fault;
  if (sharesNames(stored))
    fault = "its index uses the same bytes again and again";
  else if (!fb::VerifyIndexBuffer(verifier))
    fault = "its index is no valid FlatBuffer";
  else
    fault =
        IndexLoader(stored.size()).load(*fb::GetIndex(stored.data()), contents);
  if (fault.empty())
    fault = format::whyInvalid(contents);
  if (fault.empty())
    fault = whyMisplaced(contents.sections, sizeof(header) + stored.size(),
                         fileBytes);
  if (!fault.empty()) {
    error = "the file is damaged: " + fault;
    return false;
  }
  return true;
}

const Section *Reader::findSection(SectionKind kind) const {
  for (const Section &section : contents.sections)
    if (section.kind == kind)
      return &section;
  return nullptr;
}

bool Reader::readSection(const Section &section, std::span<std::byte> into,
                         std::string &error) const {
  if (into.size() != section.bytes) {
    error = "section " + std::string(name(section.kind)) + " has " +
            std::to_string(section.bytes) + " bytes, asked for " +
            std::to_string(into.size());
    return false;
  }
  if (!readAt(section.offset, into, error))
    return false;
  if (hashOf(into) != Hash{section.hashLow, section.hashHigh}) {
    error = "the file is damaged: section " + std::string(name(section.kind)) +
            " does not have the hash it should";
    return false;
  }
  return true;
}
