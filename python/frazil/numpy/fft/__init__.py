"""Fourier transforms under the names of numpy.fft.

NumPy computes them on the host: immediately, which reads the array, or in a node of a recorded function. Transforms of
float32 are complex64, as in NumPy 2. For graphs without Python use frazil.lazy.ops.DFT, whose last axis has the real
and imaginary parts.
"""

from .transforms import (
    fft,
    fft2,
    fftfreq,
    fftn,
    fftshift,
    hfft,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftfreq,
    rfftn,
)
