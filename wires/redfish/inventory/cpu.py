"""What a CPU's name and Redfish's words tell: its architecture, and whether it has x86-64-v3.

No BMC tells instructions. Redfish's ProcessorId has them in no common form: of four captured trees, one has CPUID's
signature, two have it within longer numbers, and one has SMBIOS's number of the family in its place.
"""

import re

AMD64, ARM64 = "amd64", "arm64"
ARCHITECTURES = {
    "x86-64": AMD64,
    "arm-a64": ARM64,
}
"""By Redfish's InstructionSet. ProcessorArchitecture says only `x86` or `ARM`, of 32 bits or of 64."""
DECORATION = re.compile(r"\((?:R|TM)\)|\b(?:CPU|Processor)\b", re.IGNORECASE)
HAS_V3 = re.compile(
    r"(?:Intel )?Xeon (?:Platinum|Gold|Silver|Bronze|(?:6 )?6\d{3}[PE]|E-2\d{3}|[WD]-\d{4}|E[357]-\d{4}L? v[3-6])"
    "|(?:AMD )?EPYC",
    re.IGNORECASE,
)
HAS_NOT = re.compile(r"(?:Intel )?Xeon (?:E[357]-\d{4}L?(?: v2)?(?: |$)|[ELWX]\d{4})", re.IGNORECASE)
"""The names of CPUs with x86-64-v3, which is AVX2, BMI and FMA, and of CPUs without.

Sources: the x86-64 psABI for the level, which Intel's CPUs have from Haswell on (en.opensuse.org,
X86-64_microarchitecture_levels); Intel's names: Haswell is E5 and E7 v3 and E3 v3, and Xeon D, Scalable (Platinum to
Bronze), W-, E-2000 and 6 are later; E5520 and the like, without a hyphen, are Nehalem or older. AMD: each EPYC is
Zen. Opterons, Atoms and Celerons are in neither: some have it, and their names do not tell.
"""


def architecture(words: tuple[str, ...]) -> str:
    """Return the architecture by InstructionSet, else by a name such as ARMv9; empty if neither tells it."""
    for word in words:
        if found := ARCHITECTURES.get(word.lower()):
            return found
    return ARM64 if any(re.match("ARMv[89]", word, re.IGNORECASE) for word in words) else ""


def has_v3(model: str) -> bool | None:
    """Return whether a CPU of x86 has x86-64-v3. None: its name does not tell."""
    name = " ".join(DECORATION.sub(" ", model).split())
    if HAS_V3.match(name):
        return True
    return False if HAS_NOT.match(name) else None
