import { Chat, LanguageModel } from "@effect/ai"
import { expect, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Stream, TestClock } from "effect"
import { Hedge } from "effect-hedge"
import { main, makeWorld, policy, remind, Tools } from "../src/completion.js"

/** Runs a program in a time of its own. */
const within = <A, E>(time: Duration.DurationInput, program: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const running = yield* Effect.fork(program)
    yield* TestClock.adjust(time)
    return yield* Fiber.join(running)
  })

const never = () => false

it.effect("a completion is hedged, streamed or not; the tool calls that it asks for are not", () =>
  Effect.gen(function* () {
    expect(yield* within("1 second", main)).toEqual({
      text: "Tea.",
      streamed: ["Te", "a."],
      reminders: ["mail to Ada"],
      completions: 6,
      mails: 1
    })
  })
)

it.effect("a slow tool makes nothing late: the model is asked once, the mail is sent once", () =>
  Effect.gen(function* () {
    const { counts, layer } = makeWorld(never)
    yield* within("1 second", Effect.provide(remind, layer))
    expect(counts).toEqual({ completions: 1, mails: 1 })
  })
)

it.effect("inside a hedge it would: the mail is sent twice", () =>
  Effect.gen(function* () {
    const { counts, layer } = makeWorld(never)
    const careless = LanguageModel.generateText({ prompt: "Remind Ada of her tea.", toolkit: Tools }).pipe(
      Hedge.hedge(policy),
      Effect.provide(layer)
    )
    yield* within("1 second", careless)
    expect(counts).toEqual({ completions: 2, mails: 2 })
  })
)

it.effect(
  "a stream that begins with its model's name has not begun to answer: hedged above that, it stays late",
  () =>
    Effect.gen(function* () {
      const { counts, layer } = makeWorld((completion) => completion === 1)
      const careless = LanguageModel.streamText({ prompt: "What goes with rain?" }).pipe(
        Hedge.hedgeStream(policy),
        Stream.runDrain,
        Effect.timed,
        Effect.provide(layer)
      )
      const [took] = yield* within("10 seconds", careless)
      expect([Duration.toMillis(took), counts.completions]).toEqual([10_000, 1])
    })
)

it.effect("a chat takes one turn at a time: a hedge of it waits for the turn that is late", () =>
  Effect.gen(function* () {
    const { counts, layer } = makeWorld((completion) => completion === 1)
    const turn = Effect.gen(function* () {
      const chat = yield* Chat.empty
      return yield* chat
        .generateText({ prompt: "What goes with rain?" })
        .pipe(Hedge.hedge(policy), Effect.timed)
    })
    const [took] = yield* within("10 seconds", Effect.provide(turn, layer))
    expect([Duration.toMillis(took), counts.completions]).toEqual([10_000, 1])
  })
)
