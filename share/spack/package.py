# Spack recipe of Blastoff (docs/installing.md). It names no address: `spack dev-build` builds it in a checkout.
from spack.package import *


class Blastoff(CMakePackage):
    """Automatic BLAS offload: unmodified CPU programs run their dense linear algebra on the GPU."""

    license("BSD-3-Clause")

    version("0.2.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("fmt@8:", type="build")
    depends_on("nlohmann-json@3.9:", type="build")
    depends_on("tl-expected@1:", type="build")
    # Both become part of the library, which depends on the C library alone: their archives hold position-independent code.
    depends_on("capstone@4:", type="build")
    depends_on("xz@5.2: +pic libs=static", type="build")

    # `blastoff run` and `blastoff env` need Python alone, other commands these packages.
    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-jinja2@3.1:", type="run")
    depends_on("py-jsonschema@4.18:", type="run")
    depends_on("py-matplotlib@3.7:", type="run")
    depends_on("py-numpy@1.24:", type="run")
    depends_on("py-rich@13.0:", type="run")

    conflicts("platform=darwin")
    conflicts("platform=windows")
    conflicts("%gcc@:10", msg="C++20 is needed")

    generator("ninja")

    def cmake_args(self):
        return [self.define("BLASTOFF_TESTS", False)]
