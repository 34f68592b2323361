// Remembers what was worked out of a program: it is drawn at every scroll step and may have 100,000 rows.
import type { ProgramText } from "../../src/protocol.generated.ts";

/** `make`, worked out once for each program. */
export function oncePerProgram<T>(make: (program: ProgramText) => T): (program: ProgramText) => T {
  const known = new WeakMap<ProgramText, T>();
  return (program) => {
    let found = known.get(program);
    if (found === undefined) {
      found = make(program);
      known.set(program, found);
    }
    return found;
  };
}

/** `make`, worked out again only when an argument is another one than in the call before. */
export function forSameArguments<A extends readonly unknown[], T>(make: (...args: A) => T): (...args: A) => T {
  let last: { readonly args: A; readonly value: T } | undefined;
  return (...args) => {
    if (!last || args.some((arg, index) => arg !== last?.args[index])) last = { args, value: make(...args) };
    return last.value;
  };
}
