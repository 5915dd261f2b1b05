import { Effect } from "effect"

/** Microseconds of CPU that this process has used, on all its threads: the garbage collector's are part of what a call costs. */
const cpuMicros = (): number => {
  const { system, user } = process.cpuUsage()
  return user + system
}

export interface Spread {
  readonly median: number
  readonly lowest: number
  readonly highest: number
}

export const spreadOf = (values: ReadonlyArray<number>): Spread => {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (i: number) => sorted[Math.min(sorted.length - 1, Math.floor(i))] ?? Number.NaN
  return { median: at(sorted.length / 2), lowest: at(0), highest: at(sorted.length - 1) }
}

const sequentially = (effect: Effect.Effect<unknown, unknown>, times: number): Effect.Effect<void, unknown> =>
  Effect.gen(function* () {
    for (let i = 0; i < times; i++) yield* effect
  })

/**
 * The CPU time of each of some effects, in microseconds a run. Short rounds of all take turns, since a machine's speed drifts: that is why no
 * harness that measures one after the other is used. The first rounds warm up and do not count.
 */
export const cpuOf = async <K extends string>(
  effects: Readonly<Record<K, Effect.Effect<unknown, unknown>>>,
  options: { readonly rounds: number; readonly runs: number; readonly warmUp: number }
): Promise<Readonly<Record<K, ReadonlyArray<number>>>> => {
  const names = Object.keys(effects) as Array<K>
  const results = Object.fromEntries(names.map((name) => [name, [] as Array<number>])) as Record<
    K,
    Array<number>
  >
  for (let round = 0; round < options.warmUp + options.rounds; round++) {
    for (const name of names) {
      const before = cpuMicros()
      await Effect.runPromise(sequentially(effects[name], options.runs))
      if (round >= options.warmUp) results[name].push((cpuMicros() - before) / options.runs)
    }
  }
  return results
}

/** The ratio of two series that were measured in turns, round by round. */
export const ratios = (
  numerator: ReadonlyArray<number>,
  denominator: ReadonlyArray<number>
): ReadonlyArray<number> => numerator.map((value, i) => value / (denominator[i] ?? Number.NaN))
