"""Fourier transforms under the names of numpy.fft.

NumPy computes them on the host: immediately, which reads the array, or by a node in a recorded function. Those of
float32 are complex64, as in NumPy 2. A graph without Python has frazil.lazy.ops.DFT, of which the last axis holds real
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
