import { Duration, Effect, Option } from "effect"
import { dual } from "effect/Function"
import type { Distribution, Key, LatencyEstimator, Sample } from "../LatencyEstimator.js"
import { checkDuration, checkNumber, refuse } from "./check.js"
import { Histogram } from "./histogram.js"
import { nowMillis } from "./runtime.js"
import { Survival } from "./survival.js"
import { leastSamples, Windows } from "./windows.js"

export const TypeId = "~effect-hedge/LatencyEstimator" as const

/** More keys than these are not kept: the one that was not used for longest goes. */
export const mostKeys = 256

/** A key and those that it stands under, each with a name of its own. The key of no parts has none: it is the root. */
export interface Path {
  readonly id: string
  readonly parent: Path | undefined
}

/** A part may hold any character, so its length goes into the name. */
export const pathOf = (key: Key | undefined): Path | undefined => {
  const parts = key === undefined ? [] : typeof key === "string" ? [key] : key
  if (!Array.isArray(parts) || parts.some((part) => typeof part !== "string"))
    return refuse("key", key, "a string or an array of strings")
  return parts.reduce<Path | undefined>(
    (parent, part) => ({ id: `${parent?.id ?? ""}${part.length}:${part}`, parent }),
    undefined
  )
}

/** What is known of one key. */
export class Entry {
  readonly windows = new Windows()
  usedAt = 0
  private survival: Survival | undefined = undefined
  private readAt = 0
  private readSamples = -1

  constructor(readonly parent: Entry | undefined) {}

  /** Records for the key and for those that it stands under. */
  record(now: number, millis: number, finished: boolean): void {
    for (let entry: Entry | undefined = this; entry !== undefined; entry = entry.parent)
      entry.windows.record(now, millis, finished)
  }

  /** The nearest key, itself or one that it stands under, that holds enough samples to speak of. */
  get grown(): Entry {
    let entry: Entry = this
    while (entry.windows.samples < leastSamples && entry.parent !== undefined) entry = entry.parent
    return entry
  }

  /** Read anew when a second has passed or a tenth of the samples is new, so that to ask often costs little. */
  read(now: number): Survival {
    const { samples } = this.windows
    const fresh = Math.abs(samples - this.readSamples)
    if (this.survival === undefined || fresh * 10 >= samples || (fresh > 0 && now - this.readAt >= 1000)) {
      this.survival = this.windows.read(this.survival ?? new Survival())
      this.readAt = now
      this.readSamples = samples
    }
    return this.survival
  }
}

/** The latencies of an upstream, by key. All is synchronous here; the public module adds effects. */
export class Latencies implements LatencyEstimator {
  readonly [TypeId]: typeof TypeId = TypeId
  readonly root = new Entry(undefined)
  private readonly entries = new Map<string, Entry>()
  private uses = 0

  get size(): number {
    return this.entries.size
  }

  at(path: Path | undefined): Entry {
    if (path === undefined) return this.root
    const known = this.entries.get(path.id)
    const entry = known ?? this.enter(path)
    // a key that others stand under is kept for as long as they are
    for (let used: Entry | undefined = entry; used !== undefined; used = used.parent)
      used.usedAt = ++this.uses
    return entry
  }

  private enter(path: Path): Entry {
    const parent = this.at(path.parent)
    if (this.entries.size >= mostKeys) this.evict()
    const entry = new Entry(parent)
    this.entries.set(path.id, entry)
    return entry
  }

  private evict(): void {
    let longest = Infinity
    let unused = ""
    for (const [id, { usedAt }] of this.entries) {
      if (usedAt >= longest) continue
      longest = usedAt
      unused = id
    }
    this.entries.delete(unused)
  }
}

export const unsafeMake = (): LatencyEstimator => new Latencies()

export const isLatencyEstimator = (u: unknown): u is LatencyEstimator =>
  typeof u === "object" && u !== null && TypeId in u

const entryOf = (self: LatencyEstimator, key: Key | undefined): Entry => (self as Latencies).at(pathOf(key))

export const unsafeRecord = (self: LatencyEstimator, now: number, sample: Sample): void => {
  const elapsed = Duration.toMillis(checkDuration("elapsed", sample.elapsed))
  entryOf(self, sample.key).record(now, elapsed, sample.finished ?? true)
}

export const record: {
  (sample: Sample): (self: LatencyEstimator) => Effect.Effect<void>
  (self: LatencyEstimator, sample: Sample): Effect.Effect<void>
} = dual(2, (self: LatencyEstimator, sample: Sample) =>
  Effect.clockWith((clock) => Effect.sync(() => unsafeRecord(self, nowMillis(clock), sample)))
)

const checkShare = (p: number): number =>
  checkNumber("quantile", p, (n) => n > 0 && n < 1, "a number between 0 and 1, such as 0.99")

export const quantile = (
  self: LatencyEstimator,
  p: number,
  key?: Key
): Effect.Effect<Option.Option<Duration.Duration>> =>
  Effect.clockWith((clock) =>
    Effect.sync(() => {
      const share = checkShare(p)
      const survival = entryOf(self, key).grown.read(nowMillis(clock))
      return survival.samples === 0 ? Option.none() : Option.some(Duration.millis(survival.quantile(share)))
    })
  )

const SurvivalId = "~effect-hedge/Survival"

/** A distribution as users see it, over a survival function that nobody fills again. */
const read = (seen: Survival): Distribution & { readonly [SurvivalId]: Survival } => ({
  [SurvivalId]: seen,
  samples: seen.samples,
  finished: seen.finished,
  quantile: (p) => Duration.millis(seen.samples === 0 ? Infinity : seen.quantile(checkShare(p))),
  survival: (elapsed) => seen.of(Duration.toMillis(checkDuration("elapsed", elapsed)))
})

export const survivalOf = (distribution: Distribution): Survival =>
  (distribution as ReturnType<typeof read>)[SurvivalId]

export const distribution = (self: LatencyEstimator, key?: Key): Effect.Effect<Distribution> =>
  Effect.sync(() => read(entryOf(self, key).grown.windows.read(new Survival())))

export const fromSamples = (samples: Iterable<number | Sample>): Distribution => {
  const histogram = new Histogram("wide")
  for (const sample of samples) {
    if (typeof sample === "number") histogram.add(checkMillis(sample), true)
    else histogram.add(Duration.toMillis(checkDuration("elapsed", sample.elapsed)), sample.finished ?? true)
  }
  return read(new Survival().fill(histogram))
}

const checkMillis = (millis: number): number =>
  checkNumber("elapsed", millis, (n) => n >= 0, "milliseconds, not negative")
