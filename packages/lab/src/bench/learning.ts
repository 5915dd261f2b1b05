import { Context, Effect, Layer, Metric, MetricBoundaries } from "effect"
import { Hedge, HedgePolicy } from "effect-hedge"
import { oneTurn } from "./calls.js"
import { cpuOf, ratios } from "./measure.js"
import type { Row } from "./row.js"

/** What a call asks of what is known of its key, once it has found it: the exports of the package do not lead there. */
interface Entry {
  readonly record: (now: number, millis: number, finished: boolean) => void
  readonly quantile: (now: number, p: number) => number
}

interface Internals {
  readonly Latencies: new () => { readonly at: (path: undefined) => Entry }
}

const newEntry = async (): Promise<Entry> => {
  const path = new URL("internal/estimator.js", import.meta.resolve("effect-hedge"))
  const { Latencies } = (await import(path.href)) as Internals
  return new Latencies().at(undefined)
}

const manyMillis = Float64Array.from({ length: 4096 }, (_, i) => 10 + ((i * 977) % 4096) / 40)
const callsPerSecond = 1000

/** A thousand at a time, so that the loop around them counts for nothing. */
const thousandTimes = (once: (millis: number, i: number) => void): Effect.Effect<void> => {
  let done = 0
  return Effect.sync(() => {
    for (const end = done + 1000; done < end; done++) once(manyMillis[done % 4096]!, done)
  })
}

const estimator = async (): Promise<Row> => {
  const entry = await newEntry()
  const histogram = Metric.histogram(
    "bench",
    MetricBoundaries.exponential({ start: 1, factor: 2, count: 14 })
  )
  let seen = 0
  const cpu = await cpuOf(
    {
      histogram: thousandTimes((millis) => histogram.unsafeUpdate(millis, [])),
      estimator: thousandTimes((millis, i) => {
        const now = (i / callsPerSecond) * 1000
        entry.record(now, millis, true)
        seen = Math.max(seen, entry.quantile(now, 0.95))
      })
    },
    { warmUp: 5, rounds: 31, runs: 100 }
  )
  if (!(seen > 0)) throw new Error("the estimator has learned nothing")
  return {
    name: "estimator, record + cached quantile / histogram update",
    ratios: ratios(cpu.estimator, cpu.histogram),
    target: 1
  }
}

const adaptive: Effect.Effect<Row> = Effect.gen(function* () {
  const context = yield* Layer.build(HedgePolicy.layerAdaptive({ extraLoad: 0.1 }))
  const policy = Context.get(context, HedgePolicy.DefaultPolicy)
  const cpu = yield* Effect.promise(() =>
    cpuOf(
      {
        race: Effect.race(oneTurn, Effect.delay(oneTurn, "100 millis")),
        adaptive: Hedge.hedge(oneTurn, policy)
      },
      { warmUp: 5, rounds: 31, runs: 3000 }
    )
  )
  return {
    name: "unhedged call, adaptive policy: CPU / race + delay",
    ratios: ratios(cpu.adaptive, cpu.race),
    target: 0.33
  }
}).pipe(Effect.scoped)

/** What learning costs: of an estimator alone, and of a call under a policy that tunes itself, once it has warmed up. */
export const learning = async (): Promise<ReadonlyArray<Row>> => [
  await Effect.runPromise(adaptive),
  await estimator()
]
