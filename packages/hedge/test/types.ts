/**
 * C15. What the combinators infer, held by the compiler: this file is checked with the tests, and not run.
 *
 * `the(value).is<Expected>()` compiles for a value of exactly that type: neither `any` nor a wider or a narrower type will do.
 */
import {
  type Config,
  Context,
  Effect,
  type Exit,
  type Layer,
  type Option,
  pipe,
  type Schedule,
  type Scope,
  Stream
} from "effect"
import {
  Hedge,
  type HedgeAttempt,
  HedgeOutcome,
  HedgePolicy,
  HedgeSchedule,
  type HedgeThrottle,
  type LatencyEstimator
} from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"

type Same<X, Y> = (<T>() => T extends X ? 1 : 2) extends <T>() => T extends Y ? 1 : 2 ? true : false

const the = <Actual>(_value: Actual) => ({
  is: <Expected>(..._exact: Same<Actual, Expected> extends true ? [] : ["is of another type"]): void => {}
})

class NotFound {
  readonly _tag = "NotFound"
}
class Replica extends Context.Tag("types/Replica")<Replica, { readonly url: string }>() {}
class Settings extends Context.Tag("types/Settings")<Settings, { readonly millis: number }>() {}

interface Book {
  readonly title: string
  readonly pages: number
}

declare const readBook: Effect.Effect<Book, NotFound, Replica>
declare const closed: Schedule.Schedule<number>
declare const needy: Schedule.Schedule<number, HedgeSchedule.HedgeState, Settings>
declare const judgesAnything: (exit: Exit.Exit<unknown, unknown>) => HedgeOutcome.HedgeOutcome
declare const judgesBooks: (
  exit: Exit.Exit<Book, NotFound>,
  attempt: HedgeAttempt.HedgeAttempt
) => HedgeOutcome.HedgeOutcome

type Read<E = never, R = never> = Effect.Effect<Book, NotFound | E, Replica | R>

// --- inline options ------------------------------------------------------------------------------------------------

// the effect's own types, whether it comes last or first
the(readBook.pipe(Hedge.hedge({ schedule: closed, maxAttempts: 3 }))).is<Read>()
the(Hedge.hedge(readBook, { schedule: closed, maxAttempts: 3 })).is<Read>()
the(pipe(readBook, Hedge.hedge({ schedule: HedgeSchedule.fixed("80 millis") }))).is<Read>()

// a deadline or an attempt timeout adds HedgeError, once; a schedule adds what it needs
the(readBook.pipe(Hedge.hedge({ schedule: needy, deadline: "1 second" }))).is<
  Read<Hedge.HedgeError, Settings>
>()
the(readBook.pipe(Hedge.hedge({ schedule: closed, attemptTimeout: "100 millis" }))).is<
  Read<Hedge.HedgeError>
>()
the(readBook.pipe(Hedge.hedge({ schedule: closed, attemptTimeout: 5, deadline: "1 second" }))).is<
  Read<Hedge.HedgeError>
>()
the(Hedge.hedge(readBook, { schedule: needy, attemptTimeout: 5 })).is<Read<Hedge.HedgeError, Settings>>()
the(Hedge.hedge(readBook, { schedule: needy })).is<Read<never, Settings>>()

// classify sees the effect's own success and error, in either order of the arguments
the(
  readBook.pipe(
    Hedge.hedge({
      schedule: closed,
      classify: (exit) =>
        exit._tag === "Success" && exit.value.pages > 0 ? { _tag: "Win" } : { _tag: "NonFatal" }
    })
  )
).is<Read>()
the(
  Hedge.hedge(readBook, {
    schedule: needy,
    classify: (exit, attempt) =>
      exit._tag === "Success" && exit.value.pages > attempt.index ? HedgeOutcome.win : HedgeOutcome.nonFatal()
  })
).is<Read<never, Settings>>()
the(
  readBook.pipe(
    Hedge.hedge({ schedule: closed, classify: () => ({ _tag: "NonFatal", pushback: "100 millis" }) })
  )
).is<Read>()
the(
  readBook.pipe(
    Hedge.hedge({ schedule: closed, classify: () => ({ _tag: "Fatal", pushback: "DoNotRetry" }) })
  )
).is<Read>()

// a classify that judges more than it must changes nothing
the(readBook.pipe(Hedge.hedge({ schedule: closed, classify: judgesAnything }))).is<Read>()
the(Hedge.hedge(readBook, { schedule: closed, classify: judgesAnything })).is<Read>()
the(Hedge.hedge(readBook, { schedule: closed, classify: judgesBooks })).is<Read>()

// onDiscard sees the value, and what it needs is needed
the(
  readBook.pipe(
    Hedge.hedge({
      schedule: closed,
      onDiscard: (book) => Effect.asVoid(Effect.flatMap(Settings, () => Effect.log(book.title)))
    })
  )
).is<Read<never, Settings>>()
the(Hedge.hedge(readBook, { schedule: closed, onDiscard: (book) => Effect.log(book.title) })).is<Read>()

// --- policies ------------------------------------------------------------------------------------------------------

const plain = HedgePolicy.make({ schedule: closed })
const bounded = HedgePolicy.make({ schedule: needy, deadline: "1 second" })
const timed = HedgePolicy.make({ schedule: closed, attemptTimeout: 5 })
const ofBooks = HedgePolicy.make({ schedule: closed, classify: judgesBooks })

the(plain).is<HedgePolicy.HedgePolicy<unknown, unknown, never, never>>()
the(bounded).is<HedgePolicy.HedgePolicy<unknown, unknown, Hedge.HedgeError, Settings>>()
the(timed).is<HedgePolicy.HedgePolicy<unknown, unknown, Hedge.HedgeError, never>>()
the(ofBooks).is<HedgePolicy.HedgePolicy<Book, NotFound, never, never>>()

the(readBook.pipe(Hedge.hedge(plain))).is<Read>()
the(readBook.pipe(Hedge.hedge(bounded))).is<Read<Hedge.HedgeError, Settings>>()
the(readBook.pipe(Hedge.hedge(ofBooks))).is<Read>()
the(Hedge.hedge(readBook, bounded)).is<Read<Hedge.HedgeError, Settings>>()
the(Hedge.hedge(readBook, timed)).is<Read<Hedge.HedgeError>>()

// a combinator that holds a policy, kept for later
const boundedHedge = Hedge.hedge(bounded)
the(boundedHedge(readBook)).is<Read<Hedge.HedgeError, Settings>>()
the(boundedHedge(Effect.succeed<number>(1))).is<Effect.Effect<number, Hedge.HedgeError, Settings>>()

// inline options that say nothing of the effect, kept for later, fit any
const everyEighty = Hedge.hedge({ schedule: needy, deadline: "1 second" })
the(everyEighty(readBook)).is<Read<Hedge.HedgeError, Settings>>()
the(Effect.succeed<number>(1).pipe(everyEighty)).is<Effect.Effect<number, Hedge.HedgeError, Settings>>()
the(Hedge.hedgeWith({ schedule: closed })((attempt) => Effect.succeed(attempt.callId))).is<
  Effect.Effect<string>
>()

// @ts-expect-error a policy that judges books cannot judge text
Effect.succeed("text").pipe(Hedge.hedge(ofBooks))
// @ts-expect-error nor an effect that fails otherwise
Effect.fail("error").pipe(Hedge.hedge(ofBooks))
// @ts-expect-error nor text, if the effect comes first
Hedge.hedge(Effect.succeed("text"), ofBooks)

// it may judge less than that: a book with more to it is a book
declare const readNovel: Effect.Effect<Book & { readonly chapters: number }, NotFound>
the(readNovel.pipe(Hedge.hedge(ofBooks))).is<Effect.Effect<Book & { readonly chapters: number }, NotFound>>()

// what is changed keeps its types
the(HedgePolicy.modify(bounded, { maxAttempts: 3 })).is<typeof bounded>()
the(ofBooks.pipe(HedgePolicy.modify({ maxAttempts: 3 }))).is<typeof ofBooks>()
the(HedgePolicy.ineligible(bounded)).is<typeof bounded>()

// in functions that know nothing of the types
export const anyWithPolicy = <A, E, R>(
  self: Effect.Effect<A, E, R>
): Effect.Effect<A, E | Hedge.HedgeError, R | HedgePolicy.DefaultPolicy> => self.pipe(Hedge.withPolicy)
export const anyUnderPolicy = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  self.pipe(Hedge.hedge(plain))
export const anyInline = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  self.pipe(Hedge.hedge({ schedule: closed }))

// --- an effect per attempt -----------------------------------------------------------------------------------------

the(Hedge.hedgeWith((attempt) => (attempt.index === 0 ? readBook : readBook), bounded)).is<
  Read<Hedge.HedgeError, Settings>
>()
the(Hedge.hedgeWith((attempt) => Effect.succeed(attempt.index), { schedule: closed })).is<
  Effect.Effect<number>
>()
the(Hedge.hedgeWith(plain)((attempt) => Effect.succeed(attempt.index))).is<Effect.Effect<number>>()
// @ts-expect-error a policy that judges books cannot judge numbers
Hedge.hedgeWith((attempt) => Effect.succeed(attempt.index), ofBooks)

// --- scoped --------------------------------------------------------------------------------------------------------

declare const openBook: Effect.Effect<Book, NotFound, Replica | Scope.Scope>

// the scope of the winner is the caller's affair, even of an effect that needs none
the(Hedge.hedgeScoped(openBook, plain)).is<Read<never, Scope.Scope>>()
the(Hedge.hedgeScoped(readBook, plain)).is<Read<never, Scope.Scope>>()
the(openBook.pipe(Hedge.hedgeScoped({ schedule: needy, onDiscard: (book) => Effect.log(book.title) }))).is<
  Read<never, Settings | Scope.Scope>
>()
the(openBook.pipe(Hedge.hedgeScoped({ schedule: closed, deadline: 5 }))).is<
  Read<Hedge.HedgeError, Scope.Scope>
>()
the(openBook.pipe(Hedge.hedgeScoped(bounded))).is<Read<Hedge.HedgeError, Settings | Scope.Scope>>()
the(Effect.scoped(Hedge.hedgeScoped(openBook, plain))).is<Read>()

// --- policies from a layer -----------------------------------------------------------------------------------------

class LibraryPolicy extends HedgePolicy.Tag("types/LibraryPolicy")<LibraryPolicy>() {}

type ReadByDefault = Read<Hedge.HedgeError, HedgePolicy.DefaultPolicy>
type ReadByLibrary = Read<Hedge.HedgeError, LibraryPolicy>

// handed to pipe uncalled, in the middle of one, or called
the(readBook.pipe(Hedge.withPolicy)).is<ReadByDefault>()
the(Hedge.withPolicy(readBook)).is<ReadByDefault>()
the(
  pipe(
    readBook,
    Effect.map((book) => book.pages),
    Hedge.withPolicy,
    Effect.map((pages) => pages + 1)
  )
).is<Effect.Effect<number, NotFound | Hedge.HedgeError, Replica | HedgePolicy.DefaultPolicy>>()
the(Effect.forEach([1, 2], () => readBook.pipe(Hedge.withPolicy))).is<
  Effect.Effect<Array<Book>, NotFound | Hedge.HedgeError, Replica | HedgePolicy.DefaultPolicy>
>()
const inFlatMap = Effect.flatMap(Effect.succeed(1), () => Hedge.withPolicy(readBook))
the(inFlatMap).is<ReadByDefault>()

// a tag of one's own, before or after the effect
the(readBook.pipe(Hedge.withPolicy(LibraryPolicy))).is<ReadByLibrary>()
the(Hedge.withPolicy(readBook, LibraryPolicy)).is<ReadByLibrary>()

// @ts-expect-error not an effect
Hedge.withPolicy(42)
// @ts-expect-error a tag of something else is no policy
readBook.pipe(Hedge.withPolicy(Replica))
// @ts-expect-error nor is it one after the effect
Hedge.withPolicy(readBook, Replica)

// layers take what schedules need from where they are built
the(
  readBook.pipe(Hedge.withPolicy(LibraryPolicy), Effect.provide(LibraryPolicy.layer({ schedule: needy })))
).is<Read<Hedge.HedgeError, Settings>>()
the(readBook.pipe(Hedge.withPolicy, Effect.provide(HedgePolicy.layer({ schedule: closed, deadline: 5 })))).is<
  Read<Hedge.HedgeError>
>()
the(HedgePolicy.layer(bounded)).is<Layer.Layer<HedgePolicy.DefaultPolicy, never, Settings>>()
the(LibraryPolicy.layer(timed)).is<Layer.Layer<LibraryPolicy>>()

declare const fromConfig: Config.Config<HedgePolicy.Options<unknown, unknown>>
LibraryPolicy.layerConfig(fromConfig) satisfies Layer.Layer<LibraryPolicy, unknown>

// a layer that is given its extra load needs nothing
the(readBook.pipe(Hedge.withPolicy, Effect.provide(HedgePolicy.layerAdaptive({ extraLoad: 0.1 })))).is<
  Read<Hedge.HedgeError>
>()
the(LibraryPolicy.layerAdaptive({ extraLoad: 0.1, objective: 0.999, deadline: "1 second" })).is<
  Layer.Layer<LibraryPolicy>
>()
the(HedgePolicy.keyed(bounded, ["library", "books"])).is<typeof bounded>()
the(ofBooks.pipe(HedgePolicy.keyed("books"))).is<typeof ofBooks>()
the(Effect.flatMap(LibraryPolicy, (policy) => HedgePolicy.inspect(policy))).is<
  Effect.Effect<Option.Option<HedgePolicy.Inspection>, never, LibraryPolicy>
>()
HedgePolicy.inspect(ofBooks) satisfies Effect.Effect<unknown>
// @ts-expect-error the extra load is what it must be given
HedgePolicy.layerAdaptive({ objective: 0.99 })
// @ts-expect-error the schedule is what it works out
HedgePolicy.layerAdaptive({ extraLoad: 0.1, schedule: closed })

// @ts-expect-error a layer's policy must be able to judge everything
LibraryPolicy.layer(ofBooks)
// @ts-expect-error a schedule of another input
Hedge.hedge({ schedule: null as unknown as Schedule.Schedule<number, { readonly other: string }> })

// --- the rest ------------------------------------------------------------------------------------------------------

the(Hedge.withoutHedging(readBook)).is<Read>()
HedgeSchedule.fixed(5) satisfies HedgePolicy.Options<unknown, unknown>["schedule"]
HedgeSchedule.quantile(0.95, { min: 5, max: "1 second" }) satisfies HedgeSchedule.HedgeSchedule
HedgeSchedule.budgeted({ extraLoad: 0.1, objective: 0.99 }) satisfies HedgeSchedule.HedgeSchedule
the(readBook.pipe(Hedge.hedge({ schedule: HedgeSchedule.budgeted({ extraLoad: 0.1 }) }))).is<Read>()

// --- scripts -------------------------------------------------------------------------------------------------------

type Scripted<A, E> = Effect.Effect<HedgeTest.Script<A, E>, HedgePolicy.HedgePolicyError>

the(HedgeTest.script([{ after: "5 millis", succeed: 1 }, { fail: "x" }, { never: true }])).is<
  Scripted<number, string>
>()
the(HedgeTest.script([{ fail: "x" }])).is<Scripted<never, string>>()
the(HedgeTest.script([{ die: "x" }, { interrupt: true }])).is<Scripted<never, never>>()
the(HedgeTest.script<string | number>([{ succeed: 1 }, { succeed: "one" }])).is<
  Scripted<string | number, never>
>()

// @ts-expect-error an attempt has one end
HedgeTest.script([{ succeed: 1, fail: "x" }])
// @ts-expect-error an attempt has an end
HedgeTest.script([{ after: 5 }])
// @ts-expect-error a misspelt field
HedgeTest.script([{ afetr: 5, succeed: 1 }])

HedgeTest.layer satisfies Layer.Layer<HedgeThrottle.Default | LatencyEstimator.Default>

// options that are kept for later, and say nothing of values or errors, fit any effect
const kept = Hedge.hedge({ schedule: HedgeSchedule.fixed("80 millis"), deadline: "1 second" })
the(readBook.pipe(kept)).is<Read<Hedge.HedgeError>>()
the(
  Hedge.hedgeWith({ schedule: HedgeSchedule.fixed("80 millis") })((attempt) => Effect.succeed(attempt.index))
).is<Effect.Effect<number>>()
const keptScoped = Hedge.hedgeScoped({ schedule: HedgeSchedule.fixed("80 millis") })
the(keptScoped(readBook)).is<Read<never, Scope.Scope>>()

// --- streams -------------------------------------------------------------------------------------------------------

declare const pages: Stream.Stream<Book, NotFound, Replica>
type Pages<E = never, R = never> = Stream.Stream<Book, NotFound | E, Replica | R>

the(Hedge.hedgeStream(pages, plain)).is<Pages>()
the(pages.pipe(Hedge.hedgeStream(bounded))).is<Pages<Hedge.HedgeError, Settings>>()
the(pages.pipe(Hedge.hedgeStream({ schedule: needy, deadline: 5 }))).is<Pages<Hedge.HedgeError, Settings>>()
the(
  pages.pipe(
    Hedge.hedgeStream({
      schedule: closed,
      classify: (exit) =>
        exit._tag === "Success" && exit.value.pages > 0 ? HedgeOutcome.win : HedgeOutcome.nonFatal()
    })
  )
).is<Pages>()
the(Hedge.hedgeStream(pages, { schedule: closed, onDiscard: (book) => Effect.log(book.title) })).is<Pages>()
the(Hedge.hedgeStreamWith((attempt) => (attempt.index === 0 ? pages : pages), ofBooks)).is<Pages>()
the(Hedge.hedgeStreamWith({ schedule: closed, attemptTimeout: 5 })(() => pages)).is<Pages<Hedge.HedgeError>>()
// @ts-expect-error a policy that judges books cannot judge numbers
Hedge.hedgeStream(Stream.make(1), ofBooks)

// under a policy from a layer, as an effect is
the(pages.pipe(Hedge.withPolicy)).is<Pages<Hedge.HedgeError, HedgePolicy.DefaultPolicy>>()
the(pages.pipe(Hedge.withPolicy(LibraryPolicy))).is<Pages<Hedge.HedgeError, LibraryPolicy>>()
the(Hedge.withPolicy(pages, LibraryPolicy)).is<Pages<Hedge.HedgeError, LibraryPolicy>>()
the(pipe(pages, Hedge.withPolicy, Stream.take(1))).is<Pages<Hedge.HedgeError, HedgePolicy.DefaultPolicy>>()
export const hedgePages = <A, E, R>(
  self: Stream.Stream<A, E, R>
): Stream.Stream<A, E | Hedge.HedgeError, R | HedgePolicy.DefaultPolicy> => self.pipe(Hedge.withPolicy)
export const readByTag = <A, E, R>(
  self: Effect.Effect<A, E, R>
): Effect.Effect<A, E | Hedge.HedgeError, R | LibraryPolicy> => self.pipe(Hedge.withPolicy(LibraryPolicy))
the(
  pipe(
    readBook,
    Effect.map((book) => book.pages),
    Hedge.withPolicy(LibraryPolicy),
    Effect.map((pages) => pages + 1)
  )
).is<Effect.Effect<number, NotFound | Hedge.HedgeError, Replica | LibraryPolicy>>()
