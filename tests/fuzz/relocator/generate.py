"""Random C functions with every kind of beginning that compilers produce: loops, early returns, switches, constants, calls, ..."""

import random

PARAMETERS = ["word a", "word b", "word *p", "double x", "word c", "word d", "word e", "double y", "word s", "word t", "word u"]
INTEGERS = {"a", "b", "c", "d", "e", "s", "t", "u"}

HEADER = """\
#include "harness.h"
#include <string.h>
#define NOINLINE __attribute__((noinline))
word counter = 5, limits[8] = {3, 1, 4, 1, 5, 9, 2, 6};
static word hidden = 77, table[16] = {2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4, 5, 9, 0, 4, 5};
static float single = 1.5f;
double weight = 2.25;
static __thread word mine = 3;
word (*volatile pointer)(word) = fuzz_outside;
struct object { word (*method)(word); word value; } object = {fuzz_outside, 9};
static const char *const names[] = {"alpha", "beta", "gamma", "delta"};
static void reset(void) {
  counter = 5, hidden = 77, single = 1.5f, weight = 2.25, mine = 3, pointer = fuzz_outside;
  object = (struct object){fuzz_outside, 9};
  memcpy(limits, (word[]){3, 1, 4, 1, 5, 9, 2, 6}, sizeof limits);
  memcpy(table, (word[]){2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4, 5, 9, 0, 4, 5}, sizeof table);
}
static word checksum(void) {
  word sum = counter * 3 + hidden * 5 + mine * 7 + (word)(long)weight * 11 + (word)(long)single * 13 + object.value;
  for (int i = 0; i < 8; ++i) sum = sum * 31 + limits[i];
  for (int i = 0; i < 16; ++i) sum = sum * 31 + table[i];
  return sum;
}
static NOINLINE word helper(word v) { counter += v & 7; return v ^ hidden; }
__attribute__((cold)) NOINLINE void rare(word v) { hidden += v; fuzz_outside(v); }
"""

# Statements with instructions that compilers do not emit by themselves.
ASSEMBLY = """\
#if defined(__x86_64__)
#define HOP(v) __asm__ volatile("mov %0, %%rcx\\n and $3, %%rcx\\n jrcxz 1f\\n add $5, %0\\n 1:" : "+r"(v) : : "rcx", "cc")
#define SPIN(v) __asm__ volatile("mov $3, %%ecx\\n 1: add $7, %0\\n loop 1b" : "+r"(v) : : "rcx", "cc")
#define LITERAL(v) __asm__ volatile("xor 1f(%%rip), %0\\n jmp 2f\\n .balign 8\\n 1: .quad 0x9090909090909090\\n 2:" : "+r"(v) : : "cc")
#define VECTOR(v) __asm__ volatile("movsd 1f(%%rip), %%xmm1\\n jmp 2f\\n 1: .quad 0x90909090\\n 2: movq %%xmm1, %%rcx\\n add %%rcx, %0" \\
  : "+r"(v) : : "rcx", "xmm1", "cc")
#else
#define HOP(v) __asm__ volatile("tbz %0, 3, 1f\\n add %0, %0, 5\\n 1: cbz %0, 2f\\n add %0, %0, 2\\n 2:" : "+r"(v))
#define SPIN(v) __asm__ volatile("mov x9, 3\\n 1: add %0, %0, 7\\n subs x9, x9, 1\\n b.ne 1b" : "+r"(v) : : "x9", "cc")
#define LITERAL(v) __asm__ volatile("ldr x9, 1f\\n b 2f\\n 1: .quad 0x90909090\\n 2: add %0, %0, x9" : "+r"(v) : : "x9")
#define VECTOR(v) __asm__ volatile("ldr d9, 1f\\n b 2f\\n 1: .quad 0x90909090\\n 2: fmov x9, d9\\n add %0, %0, x9" : "+r"(v) : : "x9", "d9")
#endif
"""


class Generator:
    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def some(self, *choices):
        return self.random.choice(choices)

    def value(self, names: list[str], depth: int = 0) -> str:
        """An expression of type word."""
        leaves = [str(self.random.randrange(0, 1 << self.some(3, 8, 16, 33))) + "ul", "counter", "hidden", "mine", "limits[3]"]
        leaves += [name for name in names if name in INTEGERS] * 3
        if "p" in names:
            leaves += ["p[0]", "p[5]", f"p[{self.value(names, 3)} & 7]"] if depth < 3 else ["p[1]"]
        if "x" in names:
            leaves += ["(word)(long)(x * 1.75)", "(word)(x > weight)", "(word)(long)(x / single)"]
        if "y" in names:
            leaves += ["(word)(long)(y + 0.3)", "(word)(long)(x + y * weight)"]
        if depth >= 2 or self.random.random() < 0.3:
            return self.random.choice(leaves)
        left, right = self.value(names, depth + 1), self.value(names, depth + 1)
        return self.some(
            f"({left} {self.some('+', '-', '*', '^', '|', '&')} {right})",
            f"({left} >> {self.random.randrange(1, 9)})",
            f"({left} < {right} ? {right} : {left})",
            f"table[{left} & 15]",
            f"(word)names[{left} & 3][{self.random.randrange(4)}]",
        )

    def call(self, names: list[str]) -> str:
        value = self.value(names, 1)
        return self.some("fuzz_outside({})", "fuzz_outside({})", "pointer({})", "object.method({})", "helper({})").format(value)

    def target(self, names: list[str]) -> str:
        choices = ["r", "r", "counter", "hidden", "mine", "table[4]", "object.value"]
        choices += [name for name in names if name in INTEGERS]
        return self.random.choice(choices + (["p[2]", "p[9]"] if "p" in names else []))

    def simple(self, names: list[str]) -> str:
        choices = [f"{self.target(names)} {self.some('=', '+=', '^=')} {self.value(names)};"] * 4
        choices += [f"r += {self.call(names)};", "weight += 1.25;", "single *= 2;"]
        choices += [f"{macro}(r);" for macro in ("HOP", "SPIN", "LITERAL", "VECTOR")]
        return self.random.choice(choices)

    def block(self, names: list[str], length: int) -> str:
        return " ".join(self.simple(names) for _ in range(length))

    def cases(self, names: list[str], leave: str) -> str:
        """The cases of a switch, each with some ending; `leave` is a statement that leaves the switch."""
        ends = (leave, leave, "", "return r;")
        return " ".join(f"case {i}: {self.simple(names)} {self.random.choice(ends)}" for i in range(self.some(3, 7, 12)))

    def switch(self, names: list[str], v: str) -> str:
        return f"switch ({v} & 15) {{ {self.cases(names, 'break;')} default: r -= 1; }}"

    def switch_in_loop(self, names: list[str], v: str) -> str:
        next_round = self.some("if (!i) goto done; break;", "if (!i) goto done; continue;")
        cases = f"{self.cases(names, next_round)} default: if (!i) goto done;"
        return f"for (word i = {v} & 7; ; --i) switch ((i + {v}) & {self.some(3, 7, 15)}) {{ {cases} }} done: r += 1;"

    def frame(self, v: str) -> str:
        size = self.some(4, 40, 700)
        return f"{{ word room[{size}]; memset(room, 1, sizeof room); room[{v} & 3] = {v}; pointer(3); r += room[1] + room[{v} & 3]; }}"

    def statement(self, names: list[str]) -> str:
        body = self.block(names, self.some(1, 1, 2))
        v = self.random.choice([name for name in names if name in INTEGERS])
        bits = self.random.randrange(1, 8)
        return self.some(
            lambda: self.simple(names),
            lambda: self.simple(names),
            lambda: self.block(names, 3),
            lambda: self.block(names, 3),
            lambda: f"if ({self.value(names)} & {bits}) return {self.value(names)};",
            lambda: f"if (!({v} & {bits})) return {self.call(names)};",
            lambda: f"if ({v} & {bits}) {{ {body} }} else {{ {self.simple(names)} }}",
            lambda: f"if (__builtin_expect({v} % 5 == 0, 0)) {{ rare({v}); {self.simple(names)} }}",
            lambda: f"for (word i = {v} & 15; i; --i) {{ {body} r += i; }}",
            lambda: f"for ({v} &= 31; {v} > {bits}; {v} -= {bits}) r += {v} * 3;",
            lambda: self.switch_in_loop(names, v),
            lambda: self.switch(names, v),
            lambda: self.frame(v),
            lambda: f"{{ word *room = __builtin_alloca(({v} & 63) + 16); room[0] = {v}; pointer(3); r += room[0]; }}",
            lambda: f"{{ static void *const to[] = {{&&one, &&two, &&three}}; goto *to[{v} % 3]; one: r += 1; two: {body} three: r += 2; }}",
        )()

    def loop_at_entry(self, names: list[str]) -> str:
        """A loop at the beginning of a function, so that code jumps back to its first instructions."""
        v = self.random.choice([name for name in names if name in INTEGERS])
        return self.some(
            f"while ({v} & 15) {{ {v} -= 1; fuzz_outside({v}); }}",
            f"again: {v} = {v} * 5 + 1; if ({v} & 64) goto again;",
            f"do {{ counter += {v}; {v} >>= 1; }} while ({v});",
            f"for (;;) switch (fuzz_outside(++{v}) % 7) {{ case 0: goto out; case 1: counter += 1; continue; case 2: mine += 2; break; "
            f"case 3: hidden += 3; continue; case 4: continue; case 5: goto out; default: counter += 9; }} out: fuzz_outside({v});",
            f"while (__builtin_expect({v} & 3, 0)) {{ rare({v}); ++{v}; }}",
            f"for ({v} &= 255; {v}; {v} &= {v} - 1) ++counter;",
        )

    def function(self, name: str) -> str:
        count = self.some(1, 2, 3, 3, 4, 6, 8, 11)
        names = [parameter.split()[-1].lstrip("*") for parameter in PARAMETERS[:count]]
        head = f"word {name}({', '.join(PARAMETERS[:count])})"
        shape = self.random.randrange(10)
        if shape == 0:  # a function that only calls another one
            return f"{head} {{ return {self.call(names)}; }}"
        if shape == 1:  # a function that computes something after a call
            return f"{head} {{ return {self.call(names)} + {self.value(names)}; }}"
        if shape == 2:  # a function that may have no call
            return f"{head} {{ word r = a; {self.block(names, 1)} return r; }}"
        if shape == 3:  # recursion
            arguments = ", ".join(["a >> 1", *names[1:]])
            return f"{head} {{ if ((a & 1023) < 3) return {self.call(names)}; return {name}({arguments}) * 3 + {self.value(names)}; }}"
        body = [self.loop_at_entry(names)] if shape in (4, 5) else []
        statements = [self.statement(names) for _ in range(self.some(1, 2, 4))]
        # Each statement gets its own labels, since labels are unique in a function.
        body += [self.own_labels(statement, index) for index, statement in enumerate(statements)]
        start = self.some("a", self.value(names))
        last = self.some(self.simple(names), f"r += {self.call(names)};")
        return f"{head} {{ word r = {start}; {' '.join(body)} {last} return {self.some('r', self.call(names))}; }}"

    @staticmethod
    def own_labels(statement: str, index: int) -> str:
        for label in ("done", "one", "two", "three"):
            statement = (
                statement.replace(f"&&{label}", f"&&{label}{index}")
                .replace(f"{label}:", f"{label}{index}:")
                .replace(f"goto {label};", f"goto {label}{index};")
            )
        return statement

    def program(self, functions: int) -> str:
        names = [f"f{i}" for i in range(functions)]
        cases = ", ".join(f'{{"{name}", (fuzz_function){name}}}' for name in names)
        return "\n".join(
            [
                HEADER,
                ASSEMBLY,
                *(self.function(name) for name in names),
                f"int main(void) {{ const struct fuzz_case cases[] = {{{cases}}};",
                f"const struct fuzz_program program = {{cases, {functions}, reset, checksum}};",
                "return fuzz_relocator(&program); }\n",
            ]
        )
