import { Chunk, Effect, Option, Stream } from "effect"
import { type HedgeAttempt, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"

/** What a scripted stream answers to a pull, after some time: a chunk, or an end of another kind. */
export type Step = { readonly after?: number } & (
  | { readonly chunk: ReadonlyArray<string> }
  | { readonly fail: string }
  | { readonly die: unknown }
  | { readonly never: true }
)

const endOf = (step: Step): Effect.Effect<Chunk.Chunk<string>, Option.Option<string>> => {
  if ("chunk" in step) return Effect.succeed(Chunk.fromIterable(step.chunk))
  if ("fail" in step) return Effect.fail(Option.some(step.fail))
  return "die" in step ? Effect.die(step.die) : Effect.async<never>(() => {})
}

/**
 * Streams as data, one for each attempt. Each opens a resource when it starts, and takes a step when it is pulled; after its last step it ends.
 * The log tells `open 0`, `pull 0`, `close 0 Success`, … in the order in which that happens.
 */
export const script = (
  scripts: ReadonlyArray<ReadonlyArray<Step>>,
  closing: Effect.Effect<void> = Effect.void
) => {
  const log: Array<string> = []
  const note = (event: string) => Effect.sync(() => log.push(event))
  const stream = ({ index }: Pick<HedgeAttempt.HedgeAttempt, "index">): Stream.Stream<string, string> => {
    const steps = scripts[index]
    if (steps === undefined) throw new Error(`attempt ${index} is in no script`)
    let next = 0
    const pull = Effect.suspend(() => {
      log.push(`pull ${index}`)
      const step = steps[next++]
      if (step === undefined) return Effect.fail(Option.none())
      return step.after === undefined ? endOf(step) : Effect.delay(endOf(step), step.after)
    })
    return Stream.acquireRelease(note(`open ${index}`), (_, exit) =>
      Effect.zipRight(closing, note(`close ${index} ${exit._tag}`))
    ).pipe(Stream.flatMap(() => Stream.repeatEffectChunkOption(pull)))
  }
  return { log, stream }
}

/** What the log tells of an event of some kind, such as `close`. */
export const of = (log: ReadonlyArray<string>, event: string): ReadonlyArray<string> =>
  log.filter((line) => line.startsWith(event))

type Options = Omit<HedgePolicy.Options<string, string>, "schedule">

/** A second stream after 50 ms, unless a test says otherwise, and no throttle. */
export const policy = (options: Options = {}, schedule = HedgeSchedule.fixed(50)) =>
  HedgePolicy.make({ schedule, throttle: HedgeThrottle.unlimited, ...options })

/** At once, and as many as a test has scripts. */
export const atOnce = (maxAttempts: number, options: Options = {}) =>
  policy({ maxAttempts, ...options }, HedgeSchedule.parallel)

/** At once, for streams of anything. */
export const ofAnything = (maxAttempts: number) =>
  HedgePolicy.make({ schedule: HedgeSchedule.parallel, throttle: HedgeThrottle.unlimited, maxAttempts })
