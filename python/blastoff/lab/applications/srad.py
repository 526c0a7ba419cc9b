"""SRAD: speckle-reducing anisotropic diffusion of an image. In each iteration the CPU reads a part of the image."""

import numpy as np

from blastoff.lab.applications.application import Application, Array, Buffers, given, grid_2d
from blastoff.lab.buffers import launch
from blastoff.lab.device import Device
from blastoff.lab.kernels.table import COEFFICIENT, DIFFUSE, EXPONENTIATE

RATE = 0.5
SAMPLE = 128
"""Side of the part of the image that is taken to be uniform, so that its noise is the speckle."""


def speckle_of(sample: np.ndarray) -> float:
    """The squared coefficient of variation of a uniform part of the image."""
    part = sample.astype(np.float64)
    return float(part.var() / part.mean() ** 2)


class Srad(Application):
    """`iterations` is even, so that the result is in the array of the image. `by_device`: a kernel makes the image from pixels that are on the
    device, so that the image is first touched there."""

    name = "srad"
    kernels = (COEFFICIENT, DIFFUSE, EXPONENTIATE)
    tolerance = 1e-4

    def __init__(self, side: int, iterations: int, by_device: bool = False) -> None:
        self.side, self.iterations, self.size_text = side, iterations, f"{side} x {side}, {iterations} iterations"
        pixels = np.random.default_rng(5).random((side, side), dtype=np.float32)
        image = np.exp(pixels)
        self.arrays: dict[str, Array] = {
            "image": given(image, read_back=True),
            "other": Array(np.float32, (side, side)),
            "diffusion": Array(np.float32, (side, side), device_only=True),
        }
        if by_device:
            self.initialised_by = "gpu"
            self.size_text += ", GPU-initialised"
            self.arrays["image"] = Array(np.float32, (side, side), by_device=True, read_back=True)
            self.arrays["pixels"] = Array(np.float32, (side, side), pixels, device_only=True)
        self.lap_bytes = 5 * image.nbytes  # the coefficients read and write one array each, the update reads two and writes one
        self.expected = self.by_fluxes(image)

    def by_fluxes(self, image: np.ndarray) -> np.ndarray:
        """The result in double precision, computed from the flow through each border between two pixels."""
        now = image.astype(np.float64)
        for _ in range(self.iterations):
            speckle = speckle_of(now[:SAMPLE, :SAMPLE])
            down, right = np.diff(now, axis=0), np.diff(now, axis=1)
            laplacian, gradient = np.zeros_like(now), np.zeros_like(now)
            for part, inner, outer in ((down, np.s_[:-1], np.s_[1:]), (right, np.s_[:, :-1], np.s_[:, 1:])):
                laplacian[inner] += part
                laplacian[outer] -= part
                gradient[inner] += part**2
                gradient[outer] += part**2
            laplacian /= now
            gradient /= now**2
            variation = (gradient / 2 - (laplacian / 4) ** 2) / (1 + laplacian / 4) ** 2
            weight = np.clip(1 / (1 + (variation - speckle) / (speckle * (1 + speckle))), 0, 1)
            # The weight of the flow through a border is that of the pixel below the border, or right of it.
            change = np.zeros_like(now)
            change[:-1] += weight[1:] * down
            change[1:] -= weight[1:] * down
            change[:, :-1] += weight[:, 1:] * right
            change[:, 1:] -= weight[:, 1:] * right
            now += RATE / 4 * change
        return now

    def initialise_on_device(self, device: Device, buffers: Buffers) -> None:
        count = self.side**2
        launch(device, EXPONENTIATE, device.blocks_for(count), (256, 1), count, buffers["pixels"], buffers["image"])

    def compute(self, device: Device, buffers: Buffers) -> None:
        source, target, diffusion = buffers["image"], buffers["other"], buffers["diffusion"]
        rows = min(SAMPLE, self.side)
        for _ in range(self.iterations):
            with source.first_on_host(np.float32, rows, self.side) as part:
                speckle = speckle_of(part[:, :SAMPLE])
            launch(device, COEFFICIENT, *grid_2d(self.side), self.side, speckle, source, diffusion)
            launch(device, DIFFUSE, *grid_2d(self.side), self.side, RATE, diffusion, source, target)
            source, target = target, source
            self.lap()

    def error(self, results: dict[str, np.ndarray]) -> float:
        return float(np.max(np.abs(results["image"] - self.expected)))
