/**
 * A completion of a language model, hedged while it is late, as a whole or as a stream of tokens. What a model asks a program to do is not: the model's answer is hedged first, and its
 * tool calls are carried out afterwards, once.
 */
import { LanguageModel, type Response, Tool, Toolkit } from "@effect/ai"
import { Chunk, Effect, Layer, Option, Schema, Stream } from "effect"
import { Hedge, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"

/** A completion that has lost may be billed all the same, so there is a budget: one more for every twenty. */
export const policy = HedgePolicy.make({
  name: "completion",
  schedule: HedgeSchedule.fixed("80 millis"),
  deadline: "1 minute",
  throttle: HedgeThrottle.loadBudget({ extraLoad: 0.05, burst: 10 })
})

export const Tools = Toolkit.make(
  Tool.make("SendMail", { parameters: { to: Schema.String }, success: Schema.String })
)

/** No tools: the whole completion is an attempt. */
const answer = Effect.map(
  LanguageModel.generateText({ prompt: "What goes with rain?" }).pipe(Hedge.hedge(policy)),
  ({ text }) => text
)

/**
 * A stream: the first token decides. A provider may begin with parts that say nothing, such as the name of the model, so these are dropped before
 * the hedge sees them.
 */
const tokens = LanguageModel.streamText({ prompt: "What goes with rain?" }).pipe(
  Stream.filterMap((part) => (part.type === "text-delta" ? Option.some(part.delta) : Option.none())),
  Hedge.hedgeStream(policy)
)

/**
 * With tools: inside a hedge, `generateText` would carry out the calls of each attempt that gets so far, since a tool that takes its time is
 * late, too. So the model only says what to call.
 */
export const remind = Effect.gen(function* () {
  const toolkit = yield* Tools
  const { toolCalls } = yield* LanguageModel.generateText({
    prompt: "Remind Ada of her tea.",
    toolkit,
    disableToolCallResolution: true
  }).pipe(Hedge.hedge(policy))
  return yield* Effect.forEach(toolCalls, ({ name, params }) =>
    Effect.map(toolkit.handle(name, params), ({ result }) => result)
  )
})

/**
 * A model that gives some of its completions late, a mailer that takes longer than a hedge would wait, and how often they are asked.
 *
 * @param isLate whether a completion is late, by its number.
 */
export const makeWorld = (isLate: (completion: number) => boolean) => {
  const counts = { completions: 0, mails: 0 }
  const Mailer = Tools.toLayer({
    SendMail: ({ to }) =>
      Effect.suspend(() => {
        counts.mails += 1
        return Effect.delay(Effect.succeed(`mail to ${to}`), "200 millis")
      })
  })

  const takes = () => {
    counts.completions += 1
    return isLate(counts.completions) ? "10 seconds" : "20 millis"
  }
  const finish: Response.PartEncoded & Response.StreamPartEncoded = {
    type: "finish",
    reason: "stop",
    usage: { inputTokens: 5, outputTokens: 1, totalTokens: 6 }
  }
  const text: Response.PartEncoded = { type: "text", text: "Tea." }
  const call: Response.PartEncoded = { type: "tool-call", id: "1", name: "SendMail", params: { to: "Ada" } }

  const begin: Response.StreamPartEncoded = { type: "response-metadata", modelId: "tea" }
  const delta = (delta: string): Response.StreamPartEncoded => ({ type: "text-delta", id: "1", delta })

  const Model = Layer.effect(
    LanguageModel.LanguageModel,
    LanguageModel.make({
      generateText: ({ tools }) =>
        Effect.suspend(() => Effect.delay(Effect.succeed([tools.length > 0 ? call : text, finish]), takes())),
      streamText: () =>
        Stream.suspend(() =>
          Stream.concat(
            Stream.make(begin),
            Stream.fromIterableEffect(
              Effect.delay(Effect.succeed([delta("Te"), delta("a."), finish]), takes())
            )
          )
        )
    })
  )
  return { counts, layer: Layer.merge(Model, Mailer) }
}

export const main = Effect.suspend(() => {
  const { counts, layer } = makeWorld((completion) => completion % 2 === 1)
  return Effect.gen(function* () {
    const text = yield* answer
    const streamed = Chunk.toReadonlyArray(yield* Stream.runCollect(tokens))
    const reminders = yield* remind
    return { text, streamed, reminders, ...counts }
  }).pipe(Effect.provide(layer))
})
