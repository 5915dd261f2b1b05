import { expect, it } from "@effect/vitest"
import { Effect, Fiber, TestClock } from "effect"
import { main } from "../src/completion.js"

it.effect("a completion is hedged, the tool calls that it asks for are not", () =>
  Effect.gen(function* () {
    const running = yield* Effect.fork(main)
    yield* TestClock.adjust("1 second")
    expect(yield* Fiber.join(running)).toEqual({
      text: "Tea.",
      reminders: ["mail to Ada"],
      completions: 4,
      mails: 1
    })
  })
)
