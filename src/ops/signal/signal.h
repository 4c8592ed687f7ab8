#pragma once

#include "ir/op/define.h"

// Operators for windows and spectra.
namespace frazil::ops {

// ---- windows ----
inline constexpr std::array<Port, 1> kWindowIn{{{"size", "", elems::kIndex}}};
inline constexpr std::array<Port, 1> kNumericOut{{{"output", "T2", elems::kNumeric}}};
struct SignalWindowAttrs {
  Elem output_datatype = Elem::f32;
  std::int64_t periodic = 1;
  static constexpr std::array fields{
      attr<&SignalWindowAttrs::output_datatype>("output_datatype", "ONNX number of the element type"),
      attr<&SignalWindowAttrs::periodic>("periodic", "1: for spectra; 0: symmetric"),
  };
};
/// Return the element type that the attribute `output_datatype` gives.
Elem window_elem(const void* attrs, std::span<const Elem> inputs);
Elem mel_elem(const void* attrs, std::span<const Elem> inputs);
void hann_window_body(CompositeCx& cx);
void hamming_window_body(CompositeCx& cx);
void blackman_window_body(CompositeCx& cx);
FRAZIL_OP(HannWindow, composite<SignalWindowAttrs>({"HannWindow", 17, "The window 0.5 - 0.5 cos."},
                                                   {kWindowIn, kNumericOut}, hann_window_body, window_elem));
FRAZIL_OP(HammingWindow, composite<SignalWindowAttrs>({"HammingWindow", 17, "The window 25/46 - 21/46 cos."},
                                                      {kWindowIn, kNumericOut}, hamming_window_body, window_elem));
FRAZIL_OP(BlackmanWindow,
          composite<SignalWindowAttrs>({"BlackmanWindow", 17, "The window 0.42 - 0.5 cos + 0.08 cos 2."},
                                       {kWindowIn, kNumericOut}, blackman_window_body, window_elem));

inline constexpr std::array<Port, 5> kMelIn{{
    {"num_mel_bins", "T1", elems::kIndex},
    {"dft_length", "T1", elems::kIndex},
    {"sample_rate", "T1", elems::kIndex},
    {"lower_edge_hertz", "T2", elems::kFloat},
    {"upper_edge_hertz", "T2", elems::kFloat},
}};
inline constexpr std::array<Port, 1> kMelOut{{{"output", "T3", elems::kNumeric}}};
struct MelAttrs {
  Elem output_datatype = Elem::f32;
  static constexpr std::array fields{
      attr<&MelAttrs::output_datatype>("output_datatype", "ONNX number of the element type")};
};
void mel_weight_body(CompositeCx& cx);
FRAZIL_OP(MelWeightMatrix, composite<MelAttrs>({"MelWeightMatrix", 17,
                                                "Weights of spectrum bins in triangular filters on the mel scale."},
                                               {kMelIn, kMelOut}, mel_weight_body, mel_elem));

// ---- spectra ----
inline constexpr std::array<Port, 3> kDftIn{{
    {"input", "T1", elems::kFloat},
    {"dft_length", "T2", elems::kIndex, Port::Use::optional},
    {"axis", "", elems::kIndex, Port::Use::optional},
}};
inline constexpr std::array<Port, 1> kDftOut{{{"output", "T1", elems::kFloat}}};
struct DftAttrs {
  std::int64_t inverse = 0;
  std::int64_t onesided = 0;
  static constexpr std::array fields{
      attr<&DftAttrs::inverse>("inverse", "1: the inverse transform"),
      attr<&DftAttrs::onesided>("onesided", "1: the non-negative frequencies of real values only"),
  };
};
Status dft_types(InferCx& cx);
Status dft_run(OpaqueCall& call);
FRAZIL_OP(DFT, opaque<DftAttrs>({"DFT", 20,
                                 "The discrete Fourier transform along one axis; the last axis holds the "
                                 "real, or the real and the imaginary part."},
                                {kDftIn, kDftOut}, dft_types, dft_run,
                                "a fast transform is not a fold over one iteration space", Opaque::Work::quadratic));

inline constexpr std::array<Port, 4> kStftIn{{
    {"signal", "T1", elems::kFloat},
    {"frame_step", "T2", elems::kIndex},
    {"window", "T1", elems::kFloat, Port::Use::optional},
    {"frame_length", "T2", elems::kIndex, Port::Use::optional},
}};
struct StftAttrs {
  std::int64_t onesided = 1;
  static constexpr std::array fields{
      attr<&StftAttrs::onesided>("onesided", "1: the non-negative frequencies of a real signal only")};
};
void stft_body(CompositeCx& cx);
FRAZIL_OP(STFT, composite<StftAttrs>({"STFT", 17, "Spectra of frames of a signal."}, {kStftIn, kDftOut}, stft_body));

}  // namespace frazil::ops
