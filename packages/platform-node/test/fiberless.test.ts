/** An attempt of a lane client runs without a fiber where nothing is around it, and does what it would do on one. */
import {
  FileSystem,
  Headers,
  HttpBody,
  HttpClient,
  HttpClientError,
  HttpClientRequest,
  type HttpClientResponse,
  HttpIncomingMessage
} from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { HttpHedge } from "@effect-hedge/platform"
import { NodeHedgeClient } from "@effect-hedge/platform-node"
import { Cause, Context, Effect, Exit, Fiber, identity, Layer, Option, Scope, Stream, Tracer } from "effect"
import { Hedge, type HedgePolicy, HedgeTracing } from "effect-hedge"
import { afterFailure, attemptHeader, both } from "../../platform/test/support/policies.js"
import { type Handler, reset, serve } from "../../platform/test/support/server.js"
import { idle, lanes, protocols, until } from "./support/clients.js"
import { recording, requestsOf } from "./support/spans.js"

type Client = HttpClient.HttpClient.With<unknown, never>
type Response = HttpClientResponse.HttpClientResponse

const text = (response: Response) => response.text
const headers = { attempt: attemptHeader }
const hedge = (policy: HedgePolicy.HedgePolicy<unknown, unknown> = afterFailure) =>
  HttpHedge.withHedge({ policy, headers, eligible: () => true })

/** Something around each attempt, which changes nothing else. */
const onFibers: (client: HttpClient.HttpClient) => HttpClient.HttpClient = HttpClient.transformResponse(
  Effect.map(identity)
)

const ways = [
  { way: "without a fiber", lane: identity<HttpClient.HttpClient> },
  { way: "on a fiber", lane: onFibers }
]

const everyWay = protocols.flatMap(({ protocol }) => ways.map((way) => ({ protocol, ...way })))

const isHedge: (request: Parameters<Handler>[0]) => boolean = ({ headers }) =>
  headers[attemptHeader] !== undefined

/** The hedge alone answers, when both attempts have come. */
const hedgeAnswers = (): Handler => {
  const came: { primary?: true; hedge?: () => void } = {}
  return (request, response) => {
    if (isHedge(request)) came.hedge = () => response.end("hedge")
    else came.primary = true
    if (came.primary) came.hedge?.()
  }
}

const answers: Handler = (_, response) => response.writeHead(200, { "x-secret": "s" }).end("answer")
const fails: Handler = (_, response) => reset(response)
const hangs: Handler = () => {}
const primaryFails: Handler = (request, response) =>
  isHedge(request) ? response.end("hedge") : response.writeHead(503).end()
const half: Handler = (_, response) => response.writeHead(200).write("half")

type Call = (client: HttpClient.HttpClient, url: string) => Effect.Effect<unknown, unknown>

const fibersOf = (call: Call) =>
  Effect.gen(function* () {
    const server = yield* serve(answers)
    const { fibers, tracer } = yield* recording
    yield* Effect.withTracer(call(yield* HttpClient.HttpClient, server.url), tracer)
    expect(server.received.length).toBe(1)
    return fibers.size
  }).pipe(Effect.provide(lanes()))

const withoutFiber: Record<string, Call> = {
  "with nothing around it": (client, url) => hedge()(client).get(url),
  "under HedgeTracing": (client, url) => Effect.provide(hedge()(client).get(url), HedgeTracing.layer),
  "of a plain hedge": (client, url) => Hedge.hedge(client.get(url), afterFailure),
  "with a body": (client, url) => hedge()(client).post(url, { body: HttpBody.text("body") }),
  "mapped before it is sent": (client, url) => client.pipe(HttpClient.mapRequest(identity), hedge()).get(url),
  "in somebody's scope": (client, url) =>
    Effect.scoped(Effect.zipLeft(hedge()(client).get(url), Effect.scope))
}

const onFiber: Record<string, Call> = {
  "whose answer is looked at": (client, url) => client.pipe(HttpClient.filterStatusOk, hedge()).get(url),
  "whose answer is read": (client, url) => Hedge.hedge(Effect.flatMap(client.get(url), text), afterFailure),
  "of a scoped hedge": (client, url) => Effect.scoped(Hedge.hedgeScoped(client.get(url), afterFailure)),
  "with a scope of its own": (client, url) =>
    Effect.scoped(client.pipe(HttpClient.withScope, hedge()).get(url)),
  "with a stream": (client, url) =>
    hedge()(client).post(url, { body: HttpBody.stream(Stream.make(new Uint8Array(1))) })
}

describe("An attempt over a lane", () => {
  it.scopedLive.each(Object.keys(withoutFiber))("%s runs without a fiber", (name) =>
    Effect.map(fibersOf(withoutFiber[name]!), (fibers) => expect(fibers).toBe(0))
  )

  it.scopedLive.each(Object.keys(onFiber))("%s runs on one", (name) =>
    Effect.map(fibersOf(onFiber[name]!), (fibers) => expect(fibers).toBeGreaterThan(0))
  )
})

describe.each(everyWay)("Over $protocol, $way, an attempt", ({ lane, protocol }) => {
  const client = Effect.map(HttpClient.HttpClient, lane)

  describe("is traced:", () => {
    interface Case {
      readonly handler: () => Handler
      readonly policy?: HedgePolicy.HedgePolicy<unknown, unknown>
      readonly around?: <A, E>(call: Effect.Effect<A, E>) => Effect.Effect<A, E>
      readonly above?: (client: Client) => Client
      readonly spans: ReadonlyArray<string>
    }
    const hidden = Context.make(Tracer.DisablePropagation, true)
    const external = Tracer.externalSpan({ spanId: "external", traceId: "trace" })
    const cases: Record<string, Case> = {
      "under the caller's span": {
        handler: () => primaryFails,
        around: Effect.withSpan("page"),
        spans: ["page > http.client GET: 503", "page > http.client GET: 200"]
      },
      "under its own, if it has one": {
        handler: hedgeAnswers,
        policy: both,
        around: Effect.provide(HedgeTracing.layer),
        spans: [
          "hedge.call > hedge.attempt > http.client GET: interrupted",
          "hedge.call > hedge.attempt > http.client GET: 200"
        ]
      },
      "a loser is interrupted": {
        handler: hedgeAnswers,
        policy: both,
        spans: ["http.client GET: interrupted", "http.client GET: 200"]
      },
      "under the nearest span that may have children": {
        handler: () => answers,
        around: (call) =>
          Effect.withSpan(
            Effect.useSpan("hidden", { context: hidden }, (span) => Effect.withParentSpan(call, span)),
            "page"
          ),
        spans: ["page > http.client GET: 200"]
      },
      "under a span of somebody else": {
        handler: () => answers,
        around: Effect.withParentSpan(external),
        spans: ["external > http.client GET: 200"]
      },
      "with its error": {
        handler: () => fails,
        spans: ["http.client GET: Transport", "http.client GET: Transport"]
      },
      "by the name that is made for it": {
        handler: () => answers,
        above: HttpClient.withSpanNameGenerator(({ method }) => `call ${method}`),
        spans: ["call GET: 200"]
      },
      "not where tracing is off": {
        handler: () => answers,
        around: Effect.withTracerEnabled(false),
        spans: []
      },
      "not where it is off for the request": {
        handler: () => answers,
        above: HttpClient.withTracerDisabledWhen(() => true),
        spans: []
      }
    }

    it.scopedLive.each(Object.keys(cases))("%s", (name) =>
      Effect.gen(function* () {
        const { above = identity, around = identity, handler, policy, spans: expected } = cases[name]!
        const server = yield* serve(handler(), protocol)
        const { spans, tracer } = yield* recording
        const hedged = above(hedge(policy)(yield* client))
        yield* Effect.exit(Effect.withTracer(around(hedged.get(server.url)), tracer))
        yield* idle
        expect(requestsOf(spans)).toEqual(expected)
      }).pipe(Effect.provide(lanes()))
    )

    it.scopedLive(
      "as its caller wants it: what is annotated, linked, redacted, timed and told the server",
      () =>
        Effect.gen(function* () {
          const server = yield* serve(answers, protocol)
          const { spans, tracer } = yield* recording
          const hedged = HttpClient.withTracerPropagation(hedge()(yield* client), false)
          const request = HttpClientRequest.get(server.url, {
            headers: { authorization: "me", accept: "a/b" }
          })
          const response = yield* hedged
            .execute(request)
            .pipe(
              Effect.annotateSpans("note", 1),
              Effect.linkSpans(external),
              Effect.withTracerTiming(false),
              Effect.locally(Headers.currentRedactedNames, ["authorization", "x-secret"]),
              Effect.withTracer(tracer)
            )
          expect(Object.fromEntries(spans[0]!.attributes)).toMatchObject({
            note: 1,
            "http.request.header.authorization": "<redacted>",
            "http.request.header.accept": "a/b",
            "http.response.header.x-secret": "<redacted>"
          })
          expect(spans[0]!.links.map(({ span }) => span)).toEqual([external])
          expect(spans[0]!).toMatchObject({ startTime: 0n, status: { _tag: "Ended", endTime: 0n } })
          expect(server.received[0]!.headers.traceparent).toBe(undefined)
          expect(response.request.headers.traceparent).toBe(undefined)
        }).pipe(Effect.provide(lanes()))
    )
  })

  describe("of a tracer that throws", () => {
    const broken = new Error("a tracer's")
    const breakIf = (condition: boolean): void => {
      if (condition) throw broken
    }
    type Break = (span: Tracer.Span) => void
    const attribute =
      (breaks: (name: string) => boolean): Break =>
      (span) => {
        const set = span.attribute.bind(span)
        span.attribute = (name, value) => {
          breakIf(breaks(name))
          set(name, value)
        }
      }
    const end =
      (breaks: (exit: Exit.Exit<unknown, unknown>) => boolean): Break =>
      (span) => {
        const end = span.end.bind(span)
        span.end = (time, exit) => {
          breakIf(breaks(exit))
          end(time, exit)
        }
      }
    const withBroken = <A, E>(breaks: Break, call: Effect.Effect<A, E>) =>
      Effect.flatMap(Effect.tracer, (native) => {
        const span: Tracer.Tracer["span"] = (...args) => {
          const span = native.span(...args)
          breaks(span)
          return span
        }
        return Effect.withTracer(call, Tracer.make({ span, context: native.context }))
      })

    it.scopedLive.each<[string, number, Break]>([
      ["at the start", 0, () => breakIf(true)],
      ["at the first attribute", 0, attribute(() => true)],
      ["at the answer's attributes", 1, attribute((name) => name === "http.response.status_code")],
      ["at the end", 1, end(() => true)]
    ])("%s dies, and holds nothing", ([_, sent, breaks]) =>
      Effect.gen(function* () {
        const server = yield* serve(half, protocol)
        const exit = yield* Effect.exit(withBroken(breaks, hedge()(yield* client).get(server.url)))
        expect(exit).toEqual(Exit.die(broken))
        yield* server.until(({ cancelled }) => cancelled === sent)
        yield* idle
      }).pipe(Effect.provide(lanes()))
    )

    it.scopedLive("at the end of a failure has failed all the same: a hedge follows", () =>
      Effect.gen(function* () {
        const server = yield* serve((request, response) => {
          if (isHedge(request)) response.end("hedge")
          else reset(response)
        }, protocol)
        const call = Effect.flatMap(hedge()(yield* client).get(server.url), text)
        expect(yield* withBroken(end(Exit.isFailure), call)).toBe("hedge")
      }).pipe(Effect.provide(lanes()))
    )

    it.scopedLive("at the end of a loser takes nothing from the winner", () =>
      Effect.gen(function* () {
        const server = yield* serve(hedgeAnswers(), protocol)
        const call = Effect.flatMap(hedge(both)(yield* client).get(server.url), text)
        expect(yield* withBroken(end(Exit.isFailure), call)).toBe("hedge")
        yield* server.until(({ cancelled }) => cancelled === 1)
        yield* idle
      }).pipe(Effect.provide(lanes()))
    )
  })

  describe("fails with the copy of the request that it has sent:", () => {
    const reasons = (cause: Cause.Cause<unknown>) =>
      [...Cause.failures(cause)].map((error) => {
        if (!HttpClientError.isHttpClientError(error)) return error
        const { reason, request } = error
        return [reason, request.headers[attemptHeader], request.headers.traceparent !== undefined]
      })

    it.scopedLive.each<
      [string, ReadonlyArray<unknown>, (url: string) => HttpClientRequest.HttpClientRequest]
    >([
      [
        "Transport",
        [
          ["Transport", undefined, true],
          ["Transport", "1", true]
        ],
        HttpClientRequest.get
      ],
      [
        "Encode",
        [["Encode", undefined, true]],
        (url) => HttpClientRequest.get(url, { headers: { bad: "\n" } })
      ],
      [
        "Encode of a body",
        [["Encode", undefined, true]],
        (url) => HttpClientRequest.put(url, { body: HttpBody.raw(1) })
      ],
      ["InvalidUrl", [["InvalidUrl", undefined, false]], () => HttpClientRequest.get("ftp://there")]
    ])("%s", ([_, expected, request]) =>
      Effect.gen(function* () {
        const server = yield* serve(fails, protocol)
        const exit = yield* Effect.exit(hedge()(yield* client).execute(request(server.url)))
        expect(Exit.isFailure(exit) && reasons(exit.cause)).toEqual(expected)
      }).pipe(Effect.provide(lanes()))
    )
  })

  it.scopedLive("reads no more of a body than it may", () =>
    Effect.gen(function* () {
      const server = yield* serve(answers, protocol)
      const call = Effect.flatMap(hedge()(yield* client).get(server.url), text)
      const error = yield* Effect.flip(
        HttpIncomingMessage.withMaxBodySize(call, Option.some(FileSystem.Size(3)))
      )
      expect(error).toMatchObject({ _tag: "ResponseError", reason: "Decode", response: { status: 200 } })
    }).pipe(Effect.provide(lanes()))
  )

  it.scopedLive("takes a lane for long streams where its caller says so", () =>
    Effect.gen(function* () {
      const server = yield* serve(answers, protocol)
      yield* NodeHedgeClient.longStream(hedge()(yield* client).get(server.url))
      const { report } = yield* NodeHedgeClient.NodeHedgeClient
      expect((yield* report).map(({ lanes, long }) => [long, lanes.length])).toEqual([
        [false, 0],
        [true, 1]
      ])
    }).pipe(Effect.provide(lanes()))
  )

  describe("that nobody wants any more holds nothing:", () => {
    it.scopedLive("before its connection is there", () =>
      Effect.gen(function* () {
        const server = yield* serve(hangs, protocol)
        const fiber = yield* Effect.fork(hedge(both)(yield* client).get(server.url))
        yield* Effect.yieldNow()
        const { report } = yield* NodeHedgeClient.NodeHedgeClient
        expect(yield* report).toMatchObject([{ connecting: 2, waiting: 2 }])
        expect(Exit.isInterrupted(yield* Fiber.interrupt(fiber))).toBe(true)
        yield* idle
      }).pipe(Effect.provide(lanes()))
    )

    it.scopedLive("before the head of its answer", () =>
      Effect.gen(function* () {
        const server = yield* serve(hangs, protocol)
        const fiber = yield* Effect.fork(hedge(both)(yield* client).get(server.url))
        yield* server.until(({ received }) => received.length === 2)
        expect(Exit.isInterrupted(yield* Fiber.interrupt(fiber))).toBe(true)
        yield* server.until(({ cancelled }) => cancelled === 2)
        yield* idle
      }).pipe(Effect.provide(lanes()))
    )

    it.scopedLive("while it waits for a lane", () =>
      Effect.gen(function* () {
        const server = yield* serve(hangs, protocol)
        const hedged = hedge()(yield* client)
        const first = yield* Effect.fork(hedged.get(server.url))
        yield* server.until(({ received }) => received.length === 1)
        const waiting = yield* Effect.fork(hedged.get(server.url))
        yield* until(([upstream]) => upstream?.waiting === 1)
        yield* Fiber.interrupt(waiting)
        yield* until(([upstream]) => upstream?.waiting === 0)
        yield* Fiber.interrupt(first)
        yield* idle
        expect(server.received.length).toBe(1)
      }).pipe(Effect.provide(lanes({ lanes: 1, streamsPerLane: 1 })))
    )

    it.scopedLive("when both answers begin at once, the loser's alone is given up", () =>
      Effect.gen(function* () {
        const begun: Array<Parameters<Handler>> = []
        const server = yield* serve((...args) => {
          begun.push(args)
          if (begun.length % 2 === 0) for (const two of begun.slice(-2)) half(...two)
        }, protocol)
        const hedged = hedge(both)(yield* client)
        for (const count of [1, 2, 3, 4, 5]) {
          yield* Effect.flatMap(hedged.get(server.url), (response) =>
            Effect.gen(function* () {
              yield* server.until(({ cancelled }) => cancelled === 2 * count - 1)
              expect(yield* Stream.runHead(response.stream)).toEqual(Option.some(Buffer.from("half")))
            })
          )
          yield* server.until(({ cancelled }) => cancelled === 2 * count)
          yield* idle
        }
      }).pipe(Effect.provide(lanes()))
    )

    it.scopedLive("when its answer has won and is forgotten with its body unread", () =>
      Effect.gen(function* () {
        const server = yield* serve((request, response) => {
          if (isHedge(request)) half(request, response)
        }, protocol)
        const hedged = hedge(both)(yield* client)
        yield* Effect.fork(hedged.get(server.url)).pipe(Effect.flatMap(Fiber.await), Effect.asVoid)
        yield* until((upstreams) => {
          globalThis.gc!()
          return upstreams.every(({ lanes }) => lanes.every(({ inFlight }) => inFlight === 0))
        })
      }).pipe(Effect.provide(lanes()))
    )
  })

  it.scopedLive("of a client that is closed fails, under way or new", () =>
    Effect.gen(function* () {
      const server = yield* serve(hangs, protocol)
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(lanes({ closeGrace: 0 }), scope)
      const hedged = hedge(both)(lane(Context.get(context, HttpClient.HttpClient)))
      const underWay = yield* Effect.fork(Effect.flip(hedged.get(server.url)))
      yield* server.until(({ received }) => received.length === 2)
      yield* Scope.close(scope, Exit.void)
      const closed = { reason: "Transport", cause: new Error("the client has been closed") }
      expect(yield* Fiber.join(underWay)).toMatchObject(closed)
      expect(yield* Effect.flip(hedged.get(server.url))).toMatchObject(closed)
    })
  )
})
