#pragma once

#include "base/governor.h"
#include "exec/executable.h"
#include "exec/observer.h"
#include "ref/moves.h"

namespace frazil {

struct Counters {
  std::uint64_t runs = 0;
  std::uint64_t plans = 1;          ///< plans used; only a branch that changes a rank makes another
  std::uint64_t shape_changes = 0;  ///< register groups recomputed
  std::uint64_t prepared = 0;       ///< steps prepared
  std::uint64_t iterations = 0;     ///< loop iterations
};

/// One thread's way to run an Executable: arena, registers, loop state. Not thread-safe; cheap to open.
class Session {
 public:
  /// `governor`: of the session whose runs this one continues; null: its own.
  explicit Session(std::shared_ptr<Executable> executable, std::shared_ptr<Governor> governor = nullptr);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs the graph. Inputs in graph order; an empty Datum takes the input's default. Results in graph order, in
  /// tensors of their own, which count against no limit any more. After an error the session is usable again. Past a
  /// limit Code::limit, cancelled Code::cancelled, without memory Code::out_of_memory. Never throws.
  Result<std::vector<Datum>> run(std::span<const Datum> inputs);
  /// The same into `outputs`, which is resized; tensors that nobody else holds are reused.
  Status run(std::span<const Datum> inputs, std::vector<Datum>& outputs);

  void set_limits(const Limits& limits) { limits_ = limits; }
  /// Lets run() give results with gaps, where that spares a copy: a result that appends to an input, once requests have
  /// carried it, has room for more. Without this results are dense.
  void allow_gaps(bool allow) { strided_results_ = allow; }
  /// Between runs: gives the memory back that stays from run to run, of all versions. The next run takes it anew.
  void trim();
  void set_observer(Observer* observer) { observer_ = observer; }
  /// Makes a run in progress end with Code::cancelled soon; from any thread. The next run starts clean.
  void cancel() noexcept { governor_->cancel(); }
  const Counters& counters() const { return counters_; }
  const Executable& executable() const { return *exe_; }
  /// Bytes that count against the memory limit now: arena, growing buffers, scratch, sequences.
  std::size_t held_bytes() const { return governor_->meter()->used(); }

 private:
  friend class SessionCall;
  struct Growing {
    Buffer buffer;
    std::size_t capacity = 0;
  };

  /// A result that appends to an input.
  struct Handed {
    std::weak_ptr<const void> last{};  ///< the memory that the run before gave out
    Buffer claimed{};                  ///< where this run writes behind what is there: these bytes of each block
    std::size_t from = 0, to = 0;
  };

  /// The session of the version like `version`'s, with the other side taken at the node named by a guard.
  Result<Session*> other_side(const Session& version, const Fault& guard);
  Status run_versions(std::span<const Datum> inputs, std::vector<Datum>& outputs);
  Status run_here(std::span<const Datum> inputs, std::vector<Datum>& outputs);
  Status run_reference_tier(std::span<const Datum> inputs, std::vector<Datum>& outputs);
  Status run_plan(std::span<const Datum> inputs, std::vector<Datum>& outputs);
  Status bind_inputs(std::span<const Datum> inputs);
  Status bind_input(std::size_t i, const Datum& value);
  Status bind_dims(std::size_t i, const Tensor& tensor);
  Status input_error(std::size_t i, std::string what) const;
  Status check_input_expressions() const;
  Status lay_out_arena();
  Status make_outputs(std::vector<Datum>& outputs);
  Status take_outputs(std::vector<Datum>& outputs);
  Result<Tensor> copy_out(std::uint32_t id, Datum& reuse);
  Result<Tensor> fresh_tensor(Elem elem, const Sizes& sizes, Datum& reuse);
  Status run_tape();
  Status kernel(std::uint32_t pc);
  Status prepare(std::uint32_t pc);
  Status session_kernel(std::uint32_t pc);
  Status reference(const Step& step);
  Status check_inputs(const Step& step);
  Status opaque(const Step& step);
  Status other_step(const Step& step);
  Status eval(std::uint32_t index);
  Status reset(const Step& step);
  Status check(const Step& step) const;
  Status bind(const Step& step);
  Status pick(const Step& step);
  Status store(const Step& step);
  Status append_object(const Step& step);
  Status stack(const Step& step);
  Status append(const Step& step);
  Status move(const Step& step);
  Status slice(const Step& step);
  Status grow(const Step& step);
  Status reserve(const Step& step);
  Status pack(const Step& step);
  Result<Tensor> grown_result(std::uint32_t index, Datum& reuse);
  bool claim_room(Handed& handed, const Tensor& old, const struct AxisRows& rows, std::size_t axis);
  void settle_claims(bool failed);
  void assign(const Step& step);
  Status ensure(std::uint32_t storage, std::size_t bytes, bool keep = false);
  Status ensure_outputs(const Step& step);
  Status grow_scratch(std::size_t bytes);
  std::unexpected<Fault> out_of_steps(const Step& step) const;
  Status check_size(std::uint32_t storage, std::size_t bytes) const;
  Status check_arena(std::string_view what, std::size_t before, std::size_t after) const;
  void place_constants();
  void drop_memory();
  std::string account_of(const Slot& slot) const;
  std::string account_of(std::uint32_t storage) const;
  std::byte* pointer(std::uint32_t id) const;
  /// A tensor without elements may begin anywhere: of its address only the bits are made.
  static std::byte* moved(std::byte* base, std::int64_t elements, std::uint64_t element_size) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(elements) * element_size;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an offset past all addresses is undefined for pointers only
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(base) + bytes);
  }
  std::int64_t scalar(std::uint32_t id) const;
  void sizes_of(const Slot& slot, Sizes& sizes) const;
  Tensor tensor_of(std::uint32_t id) const;
  Datum datum_of(std::uint32_t id) const;
  /// A value that may outlive the step: tensors are copied out of the session's memory.
  Result<Datum> owned_datum_of(std::uint32_t id);
  /// A result of known extents for a slot: writes symbols that the step itself defines, then gives memory.
  Result<std::byte*> place_output(const Step& step, std::size_t k, std::span<const std::int64_t> sizes);
  Status put_output(const Step& step, std::size_t k, Datum value);
  std::string where(const Step& step) const;

  std::shared_ptr<Executable> exe_;
  const Plan& plan_;
  std::vector<std::int64_t> regs_;
  std::vector<std::vector<std::int64_t>> seen_;  ///< per group: the sources' values it was computed from
  std::vector<std::uint8_t> known_;              ///< per group: computed at least once
  std::vector<std::uint8_t> regs_bound_;         ///< per symbol: bound by an input of this run
  enum class Ready : std::uint8_t { no, yes, nothing_to_do };
  std::vector<Ready> prepared_;          ///< per step
  std::vector<std::byte*> base_;         ///< per storage
  std::vector<Growing> growing_;         ///< per storage
  std::vector<Datum> objects_;           ///< per storage
  std::vector<ref::Gathered> gathered_;  ///< per accumulator of objects
  std::vector<Tensor> held_inputs_;      ///< per input: keeps the caller's (or a packed) tensor
  std::vector<std::uint32_t> append_of_input_, append_of_output_;  ///< of Plan::appends, or kNone
  std::vector<Handed> handed_;                                     ///< per Plan::appends
  bool strided_results_ = false;
  std::vector<std::byte> state_memory_;
  std::byte* states_ = nullptr;
  Buffer arena_, scratch_;
  std::size_t growing_bytes_ = 0;  ///< of growing_
  std::vector<std::size_t> pool_offset_;
  std::vector<std::byte*> pointers_;
  std::vector<std::int64_t> shape_memory_;
  std::vector<OperandShape> shapes_;
  std::vector<const std::byte*> constants_;
  Limits limits_;
  std::shared_ptr<Governor> governor_;
  Observer* observer_ = nullptr;
  Counters counters_;
  Sizes sizes_;
  std::map<std::map<std::uint32_t, bool>, std::unique_ptr<Session>> others_;
  Session* current_ = nullptr;  ///< the version that served last; null: this one
};

}  // namespace frazil
