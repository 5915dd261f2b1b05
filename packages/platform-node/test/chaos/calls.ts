/** Random calls, each of which knows the answer that it has to get. */
import {
  HttpBody,
  type HttpClient,
  type HttpClientError,
  HttpClientRequest,
  type HttpClientResponse
} from "@effect/platform"
import { HttpHedge } from "@effect-hedge/platform"
import { Cause, Chunk, Duration, Effect, Exit, Fiber, Option, Stream } from "effect"
import { Hedge, type HedgeAttempt, HedgePolicy, HedgeSchedule, type HedgeThrottle } from "effect-hedge"
import { bytesOf, contents, eventsOf, mostBytes } from "./content.js"
import { headerNames, type Mischief } from "./protocol.js"
import type { Random } from "./random.js"
import type { Watch } from "./watch.js"

type Request = HttpClientRequest.HttpClientRequest
type Response = HttpClientResponse.HttpClientResponse

export const mostAttempts = 3
export const budget = { extraLoad: 0.5, burst: 20 } as const
/** Of a call, from its start until its body has been read, in milliseconds. */
const deadlines = [300, 1000, 2000]
const lengths = [0, 1, 300, 4096, 65_536, 65_537, 300_001, 1_000_000, mostBytes] as const

/** How a call is made: the first good body decides, or the first good head. */
const scopes = ["body", "head"] as const
/** What becomes of the body: taken at once, as it comes, after a while, or not at all. */
const readings = ["whole", "stream", "late", "unread"] as const

interface Plan {
  readonly request: Request
  /** The body that has to come. */
  readonly expected: () => Uint8Array
  readonly replay: ((request: Request) => Request) | undefined
  readonly scope: (typeof scopes)[number]
  readonly reading: (typeof readings)[number]
  readonly deadline: number
  /** When the caller loses interest, if it does. */
  readonly interruptAfter: number | undefined
  /** In words. */
  readonly name: string
}

const upload = (seed: number, length: number) => HttpBody.uint8Array(new Uint8Array(bytesOf(seed, length)))

const uploadStream = (seed: number, length: number) =>
  HttpBody.stream(
    Stream.unfold(0, (at) =>
      at < length
        ? Option.some([new Uint8Array(bytesOf(seed, length).subarray(at, at + 30_000)), at + 30_000])
        : Option.none()
    )
  )

const planOf = (random: Random, call: number, url: string, allowed: ReadonlyArray<Mischief>): Plan => {
  const seed = random.between(0, contents - 1)
  const length = random.weighted(lengths.map((length) => [length, length > 500_000 ? 1 : 3] as const))
  const kind = random.weighted([
    ["get", 6],
    ["events", 2],
    ["post", 2],
    ["postStream", 2]
  ] as const)
  const mischief = Array.from(
    { length: mostAttempts },
    (_, attempt): Mischief =>
      allowed.length > 0 && random.chance(attempt === 0 ? 0.5 : 0.25) ? random.pick(allowed) : "none"
  )
  const count = random.between(0, 40)
  const path = kind === "events" ? `/events/${seed}/${count}` : `/bytes/${seed}/${length}`
  const uploaded = random.pick([0, 10, 1000, 100_000, 1_000_000])
  const headers = { [headerNames.call]: String(call), [headerNames.mischief]: mischief.join(",") }
  const posted = { ...headers, "idempotency-key": `key-${call}`, [headerNames.upload]: `${seed}/${uploaded}` }
  const request = (): Request => {
    switch (kind) {
      case "get":
        return HttpClientRequest.get(url + path, { headers })
      case "events":
        return HttpClientRequest.get(url + path, { headers: { ...headers, accept: "text/event-stream" } })
      case "post":
        return HttpClientRequest.post(url + path, { headers: posted, body: upload(seed, uploaded) })
      case "postStream":
        return HttpClientRequest.post(url + path, { headers: posted, body: uploadStream(seed, uploaded) })
    }
  }
  const scope = random.pick(scopes)
  const reading = scope === "body" ? random.pick(["whole", "stream"] as const) : random.pick(readings)
  const deadline = random.pick(deadlines)
  return {
    request: request(),
    expected: () => (kind === "events" ? Buffer.from(eventsOf(seed, count).join("")) : bytesOf(seed, length)),
    replay: kind === "postStream" ? HttpClientRequest.setBody(uploadStream(seed, uploaded)) : undefined,
    scope,
    reading,
    deadline,
    interruptAfter: random.chance(0.15) ? random.between(0, deadline) : undefined,
    name: `call ${call} (${kind} ${url}${path}, ${mischief.join(",")}, ${scope}, ${reading}, ${deadline} ms)`
  }
}

/** What came of a call. */
type Answer =
  | { readonly _tag: "Whole"; readonly bytes: Uint8Array }
  | { readonly _tag: "Unread" }
  | { readonly _tag: "Unavailable" }
  | { readonly _tag: "Strange"; readonly status: number }

const concat = (chunks: Chunk.Chunk<Uint8Array>): Uint8Array => Buffer.concat(Array.from(chunks))

const read = (
  response: Response,
  reading: Plan["reading"]
): Effect.Effect<Answer, HttpClientError.ResponseError> => {
  if (response.status === 503) return Effect.as(response.text, { _tag: "Unavailable" } as const)
  if (response.status !== 200) return Effect.succeed({ _tag: "Strange", status: response.status } as const)
  if (reading === "unread") return Effect.succeed({ _tag: "Unread" } as const)
  const bytes =
    reading === "whole"
      ? Effect.map(response.arrayBuffer, (buffer) => new Uint8Array(buffer))
      : Effect.map(Stream.runCollect(response.stream), concat)
  return Effect.map(
    reading === "late" ? Effect.delay(bytes, 100) : bytes,
    (bytes) => ({ _tag: "Whole", bytes }) as const
  )
}

const isRejected = ({ status }: Response): boolean => status === 503

export interface Caller {
  readonly client: HttpClient.HttpClient
  readonly throttle: HedgeThrottle.HedgeThrottle
  readonly watch: Watch
  readonly mischiefs: ReadonlyArray<Mischief>
}

const run = ({ client, throttle }: Caller, plan: Plan) => {
  const { deadline, reading, replay, request, scope } = plan
  const options = { schedule: HedgeSchedule.fixed(60), maxAttempts: mostAttempts, throttle, deadline }
  if (scope === "body") {
    const attempt = ({ index }: HedgeAttempt.HedgeAttempt) => {
      const numbered =
        index === 0 ? request : HttpClientRequest.setHeader(request, headerNames.attempt, String(index))
      return Effect.flatMap(client.execute(replay === undefined ? numbered : replay(numbered)), (response) =>
        Effect.flatMap(
          read(response, reading),
          (answer): Effect.Effect<Answer, string> =>
            isRejected(response) ? Effect.fail("unavailable") : Effect.succeed(answer)
        )
      )
    }
    return Effect.scoped(Hedge.hedgeWith(attempt, options))
  }
  const hedged = client.pipe(
    HttpHedge.withHedge({
      policy: HedgePolicy.make(options),
      headers: { attempt: headerNames.attempt },
      ...(replay === undefined ? {} : { replay })
    })
  )
  const whole: Effect.Effect<Answer, unknown> = Effect.flatMap(hedged.execute(request), (response) =>
    read(response, reading)
  )
  return Effect.timeout(whole, deadline)
}

const isTyped = (error: unknown): boolean =>
  error === "unavailable" ||
  ["RequestError", "ResponseError", "HedgeError", "TimeoutException"].includes(
    String((error as { readonly _tag?: unknown } | null)?._tag)
  )

const judge = (watch: Watch, plan: Plan, exit: Exit.Exit<Answer, unknown>): void => {
  if (Exit.isSuccess(exit)) {
    const { value } = exit
    watch.add(`calls: ${value._tag}`)
    if (value._tag === "Strange") watch.violated(`${plan.name}: status ${value.status}`)
    if (value._tag !== "Whole") return
    const expected = plan.expected()
    if (Buffer.compare(expected, value.bytes) !== 0) {
      watch.violated(
        `${plan.name}: ${value.bytes.length} bytes came that are not the ${expected.length} expected`
      )
    }
    return
  }
  const { cause } = exit
  if (Cause.isInterruptedOnly(cause)) {
    watch.add("calls: Interrupted")
    if (plan.interruptAfter === undefined) watch.violated(`${plan.name}: interrupted by nobody`)
    return
  }
  const defects = Cause.defects(cause)
  if (!Chunk.isEmpty(defects)) return watch.violated(`${plan.name}: ${Cause.pretty(cause)}`)
  for (const error of Cause.failures(cause)) {
    const { _tag = error, reason } = error as { readonly _tag?: string; readonly reason?: string }
    watch.add(`calls: ${_tag}${reason === undefined ? "" : ` ${reason}`}`)
    if (!isTyped(error)) watch.violated(`${plan.name}: ${String(error)}`)
  }
}

/** Makes one call and judges what came of it. */
export const callOnce = (caller: Caller, random: Random, call: number, url: string): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { watch } = caller
    const plan = planOf(random, call, url, caller.mischiefs)
    const start = performance.now()
    const fiber = yield* Effect.fork(run(caller, plan) as Effect.Effect<Answer, unknown>)
    const { interruptAfter } = plan
    if (interruptAfter !== undefined) {
      yield* Effect.race(Fiber.await(fiber), Effect.sleep(Duration.millis(interruptAfter)))
      yield* Fiber.interruptFork(fiber)
    }
    const exit = yield* Fiber.await(fiber)
    const late = performance.now() - start - plan.deadline
    watch.latestEnd = Math.max(watch.latestEnd, late)
    judge(watch, plan, exit)
  })
