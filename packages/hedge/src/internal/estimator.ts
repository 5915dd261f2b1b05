import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type { Distribution, Estimators, Key, LatencyEstimator, Sample } from "../LatencyEstimator.js"
import {
  check,
  checkDuration,
  checkFields,
  duration,
  number,
  type Shape,
  type Shapes,
  time,
  trueOrFalse
} from "./check.js"
import { Histogram, sampleOf } from "./histogram.js"
import { Lru } from "./lru.js"
import { nowMillis } from "./runtime.js"
import { Survival } from "./survival.js"
import { enoughSamples, Windows } from "./windows.js"

export const TypeId = "~effect-hedge/LatencyEstimator" as const

/** More keys than these are not kept: the one that was not used for longest goes. */
export const mostKeys = 256

/** A key and those that it stands under, each with a name of its own. The key of no parts has none: it is the root. */
export interface Path {
  readonly id: string
  readonly parent: Path | undefined
}

export const aKey: Shape = [
  (u) => typeof u === "string" || (Array.isArray(u) && u.every((part) => typeof part === "string")),
  "a string or an array of strings"
]

/** A part may hold any character, so its length goes into the name. */
export const pathOf = (key: Key | undefined): Path | undefined => {
  if (key === undefined) return undefined
  check("key", key, aKey)
  const parts = typeof key === "string" ? [key] : key
  return parts.reduce<Path | undefined>(
    (parent, part) => ({ id: `${parent?.id ?? ""}${part.length}:${part}`, parent }),
    undefined
  )
}

/** The key with a name. */
const keyOf = (id: string): ReadonlyArray<string> => {
  const parts: Array<string> = []
  let end = 0
  while (end < id.length) {
    const start = id.indexOf(":", end) + 1
    end = start + Number(id.slice(end, start - 1))
    parts.push(id.slice(start, end))
  }
  return parts
}

/** What is known of one key. */
export class Entry {
  private survival: Survival | undefined = undefined
  private readAt = 0
  private readSamples = 0
  /** The quantile that was asked for last of what was read last. */
  private share = 0
  private atShare = 0

  constructor(
    readonly parent: Entry | undefined,
    readonly windows: Windows
  ) {}

  /** Records for the key and for those that it stands under. */
  record(now: number, millis: number, finished: boolean): void {
    this.windows.record(now, millis, finished)
    this.parent?.record(now, millis, finished)
  }

  /** The nearest key, itself or one that it stands under, that holds enough samples to speak of. */
  get grown(): Entry {
    return this.windows.samples < enoughSamples && this.parent !== undefined ? this.parent.grown : this
  }

  /** Read anew when a second has passed or a tenth of the samples is new, so that to ask often costs little. */
  read(now: number): Survival {
    const { recorded, samples } = this.windows
    const fresh = recorded - this.readSamples
    const isOld = fresh * 10 >= samples || (fresh > 0 && now - this.readAt >= 1000)
    if (this.survival === undefined || isOld) {
      this.survival = this.windows.read(this.survival ?? new Survival())
      this.readAt = now
      this.readSamples = recorded
      this.share = 0
    }
    return this.survival
  }

  /** NaN without samples. */
  quantile(now: number, p: number): number {
    const survival = this.read(now)
    if (p !== this.share) {
      this.atShare = survival.quantile(p)
      this.share = p
    }
    return this.atShare
  }
}

/** The latencies of an upstream, by key. All is synchronous here; the public module adds effects. */
export class Latencies implements LatencyEstimator {
  readonly [TypeId]: typeof TypeId = TypeId
  private readonly least = { samples: enoughSamples }
  private readonly entries = new Lru<Entry>(mostKeys)
  readonly root = this.entry(undefined)

  /** The keys that are kept. */
  get keys(): ReadonlyArray<ReadonlyArray<string>> {
    return this.entries.keys.map(keyOf)
  }

  /** A key that others stand under is used whenever they are, so that it is kept for as long. */
  at(path: Path | undefined): Entry {
    if (path === undefined) return this.root
    const parent = this.at(path.parent)
    return this.entries.get(path.id, () => this.entry(parent))
  }

  /** What is known of a key, or of the nearest that it stands under: to look is no use. */
  peek(path: Path | undefined): Entry {
    return path === undefined ? this.root : (this.entries.peek(path.id) ?? this.peek(path.parent))
  }

  /** Somebody needs so many samples: no window ends with less. */
  need(samples: number): void {
    this.least.samples = Math.max(this.least.samples, samples)
  }

  private entry(parent: Entry | undefined): Entry {
    return new Entry(parent, new Windows(this.least))
  }
}

export const unsafeMake = (): LatencyEstimator => new Latencies()

export const makeDefault = (): Estimators => {
  const known = new WeakMap<object, LatencyEstimator>()
  return {
    estimatorOf: (schedule) => {
      const estimator = known.get(schedule) ?? unsafeMake()
      known.set(schedule, estimator)
      return estimator
    }
  }
}

/** Which estimator a schedule that names none learns in. */
export class Default extends Context.Reference<Default>()("effect-hedge/LatencyEstimator/Default", {
  defaultValue: makeDefault
}) {}

export const isLatencyEstimator = (u: unknown): u is LatencyEstimator =>
  typeof u === "object" && u !== null && TypeId in u

export const anEstimator: Shape = [
  isLatencyEstimator,
  "a LatencyEstimator, such as LatencyEstimator.make makes"
]

const entryOf = (self: LatencyEstimator, key: Key | undefined): Entry =>
  (check("estimator", self, anEstimator) as Latencies).at(pathOf(key))

const sampleShapes: Shapes<keyof Sample> = { elapsed: duration, finished: trueOrFalse, key: aKey }

const millisOf = (sample: Sample): number => {
  checkFields("sample", sample, sampleShapes, ["elapsed"])
  const { elapsed } = sample
  return typeof elapsed === "number" ? elapsed : Duration.toMillis(elapsed)
}

export const unsafeRecord = (self: LatencyEstimator, now: number, sample: Sample): void => {
  const elapsed = millisOf(sample)
  entryOf(self, sample.key).record(check("now", now, time), elapsed, sample.finished ?? true)
}

export const record: {
  (sample: Sample): (self: LatencyEstimator) => Effect.Effect<void>
  (self: LatencyEstimator, sample: Sample): Effect.Effect<void>
} = dual(2, (self: LatencyEstimator, sample: Sample) =>
  Effect.clockWith((clock) => Effect.sync(() => unsafeRecord(self, nowMillis(clock), sample)))
)

export const share: Shape = number((n) => n > 0 && n < 1, "a number between 0 and 1, such as 0.99")

export const unsafeQuantile = (
  self: LatencyEstimator,
  now: number,
  p: number,
  key?: Key
): number | undefined => {
  check("quantile", p, share)
  const millis = entryOf(self, key).grown.quantile(check("now", now, time), p)
  return Number.isNaN(millis) ? undefined : millis
}

export const quantile = (
  self: LatencyEstimator,
  p: number,
  key?: Key
): Effect.Effect<Option.Option<Duration.Duration>> =>
  Effect.clockWith((clock) =>
    Effect.sync(() =>
      Option.map(Option.fromNullable(unsafeQuantile(self, nowMillis(clock), p, key)), Duration.millis)
    )
  )

const SurvivalId = "~effect-hedge/Survival"

/** A distribution as users see it, over a survival function that nobody fills again. */
const read = (seen: Survival): Distribution & { readonly [SurvivalId]: Survival } => ({
  [SurvivalId]: seen,
  samples: seen.samples,
  finished: seen.finished,
  quantile: (p) => {
    check("quantile", p, share)
    return Duration.millis(seen.samples === 0 ? Infinity : seen.quantile(p))
  },
  survival: (elapsed) => seen.of(Duration.toMillis(checkDuration("elapsed", elapsed)))
})

/** The survival function behind a distribution of ours. */
export const survivalOf = (distribution: object): Survival | undefined =>
  (distribution as Partial<ReturnType<typeof read>>)[SurvivalId]

export const distribution = (self: LatencyEstimator, key?: Key): Effect.Effect<Distribution> =>
  Effect.sync(() => read(entryOf(self, key).grown.windows.read(new Survival())))

const someSamples: Shape = [Predicate.isIterable, "milliseconds or samples, as an array or another iterable"]
export const milliseconds = number((n) => n >= 0, "milliseconds, not negative")

export const fromSamples = (samples: Iterable<number | Sample>): Distribution => {
  const histogram = new Histogram("wide")
  for (const sample of check("samples", samples, someSamples)) {
    if (typeof sample === "number") histogram.add(sampleOf(check("elapsed", sample, milliseconds), true))
    else histogram.add(sampleOf(millisOf(sample), sample.finished ?? true))
  }
  return read(new Survival().fill(histogram))
}
