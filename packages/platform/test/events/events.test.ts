import { HttpClient, type HttpClientError, HttpClientRequest, HttpClientResponse } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { HttpHedge } from "@effect-hedge/platform"
import { Cause, Chunk, Context, Effect, Exit, Layer, Option, Stream } from "effect"
import { Hedge, HedgeOutcome, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import { hedgedEvents } from "../suite/events.js"
import { transports, undiciHttp1 } from "../support/clients.js"
import { afterFailure, attemptHeader, both, withOneConnection } from "../support/policies.js"
import { Recorder } from "../support/recorder.js"
import { type Handler, serve } from "../support/server.js"
import { begin, dataOf, events, isHedge, roles, sendAll } from "./support.js"

const get = HttpClientRequest.get
const silent: Handler = () => {}

/** Runs a test with a server and the usual client. */
const withServer = <A, E>(
  handler: Handler,
  test: (url: string) => Effect.Effect<A, E, HttpClient.HttpClient>
) =>
  Effect.flatMap(serve(handler), (server) => test(server.url)).pipe(
    Effect.provide(undiciHttp1.layer),
    Effect.scoped
  )

transports.forEach(hedgedEvents)

describe("events", () => {
  it.live("have a type, data of several lines, and an id; what is cut off at the end is dropped", () =>
    withServer(
      (_request, response) => {
        begin(response).write("retry: soon\nmood: good\nevent: token\nid: 7\ndata: one\ndata: two\n\n")
        response.end("data: plain\n\nevent: token\ndata: cut off\n")
      },
      (url) =>
        Effect.gen(function* () {
          const open = yield* events(both)
          expect(Chunk.toReadonlyArray(yield* Stream.runCollect(open(get(url))))).toStrictEqual([
            { event: "token", data: "one\ntwo", id: "7" },
            { event: "message", data: "plain", id: undefined }
          ])
        })
    )
  )

  for (const [name, chunks] of [
    ["one at a time", ["data: a\r\r", "data: b\r\r"]],
    ["with other ends of lines", ["data: a\r", "\n\r\ndata: b\r\n\r", "\n"]],
    ["character by character", [..."data: a\r\rdata: b\r\n\r\n"]],
    ["with an empty chunk", ["data: a\r", "", "\ndata: +\r\r\n", "data: b\n\r"]]
  ] as const) {
    it.effect(`whose lines end in carriage returns are seen when they have come, ${name}`, () =>
      Effect.gen(function* () {
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => {
            // and the body does not end
            for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk))
          }
        })
        const response = new Response(body, { headers: { "content-type": "text/event-stream" } })
        const client = HttpClient.make((request) =>
          Effect.succeed(HttpClientResponse.fromWeb(request, response))
        )
        const open = client.pipe(HttpHedge.events({ policy: afterFailure }))
        const events = yield* Stream.runCollect(Stream.take(open(get("https://example.com")), 2))
        const expected = name === "with an empty chunk" ? ["a\n+", "b"] : ["a", "b"]
        expect(Chunk.toReadonlyArray(events).map(({ data }) => data)).toStrictEqual(expected)
      })
    )
  }

  it.live("that are longer than 10 MiB fail, after those before them", () =>
    withServer(
      (_request, response) => {
        begin(response).write("data: a\n\n")
        response.write(`data: ${"x".repeat(11 * 1024 * 1024)}`)
      },
      (url) =>
        Effect.gen(function* () {
          const open = yield* events(afterFailure)
          const seen: Array<string> = []
          const error = yield* Effect.flip(
            Stream.runForEach(open(get(url)), ({ data }) => Effect.sync(() => seen.push(data)))
          )
          expect(seen).toStrictEqual(["a"])
          expect(error).toMatchObject({
            _tag: "ResponseError",
            reason: "Decode",
            description: "an event of more than 10485760 characters"
          })
        })
    )
  )

  it.scopedLive("that are too long fail although nothing more comes", () =>
    Effect.gen(function* () {
      const tooLong = "data: ".padEnd(10 * 1024 * 1024 + 1, "x")
      const server = yield* serve((_request, response) => {
        begin(response).write(`data: a\n\n${tooLong}`)
      })
      const open = yield* events(afterFailure)
      const seen: Array<string> = []
      const error = yield* Effect.flip(
        Stream.runForEach(open(get(server.url)), ({ data }) => Effect.sync(() => seen.push(data)))
      )
      expect(seen).toStrictEqual(["a"])
      expect(error).toMatchObject({ _tag: "ResponseError", reason: "Decode" })
      yield* server.until(({ cancelled }) => cancelled === 1)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("come as fast as the consumer reads, and no faster", () =>
    Effect.gen(function* () {
      const event = `data: ${"x".repeat(64 * 1024)}\n\n`
      const count = 1024
      let sent = 0
      const server = yield* serve((_request, response) => {
        begin(response)
        const send = () => {
          while (sent < count) {
            sent += 1
            if (!response.write(event)) return
          }
          response.end()
        }
        response.on("drain", send)
        send()
      })
      const open = yield* events(afterFailure)
      let read = 0
      yield* Stream.runForEach(open(get(server.url)), () =>
        Effect.gen(function* () {
          read += 1
          if (read > 1) return
          // as much as buffers hold, of 64 MB, and then nothing while nobody reads
          let before = -1
          while (before !== sent) {
            before = sent
            yield* Effect.async<void>((resume) => {
              setTimeout(() => resume(Effect.void), 100)
            })
          }
          expect(sent).toBeLessThan(count / 2)
        })
      )
      expect(read).toBe(count)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )
})

describe("what is sent", () => {
  it.live(
    "each copy says that it wants events, and which attempt it is; an Accept of one's own is kept",
    () =>
      Effect.gen(function* () {
        const server = yield* serve((_request, response) => {
          response.writeHead(503).end()
        })
        const open = yield* events(afterFailure)
        yield* Effect.exit(Stream.runDrain(open(get(server.url))))
        const own = HttpClientRequest.accept(get(server.url), "text/event-stream, application/json")
        yield* Effect.exit(Stream.runDrain(open(own)))
        expect(server.received.map(({ headers }) => [headers.accept, headers[attemptHeader]])).toStrictEqual([
          ["text/event-stream", undefined],
          ["text/event-stream", "1"],
          ["text/event-stream, application/json", undefined],
          ["text/event-stream, application/json", "1"]
        ])
      }).pipe(Effect.scoped, Effect.provide(undiciHttp1.layer))
  )

  it.live(
    "a POST is sent once, by consent or with a key as often as it takes, with its body each time (C43)",
    () =>
      Effect.gen(function* () {
        const server = yield* serve((_request, response) => {
          response.writeHead(503).end()
        })
        const post = HttpClientRequest.post(server.url).pipe(HttpClientRequest.bodyText("{}"))
        const keyed = HttpClientRequest.setHeader(post, "Idempotency-Key", "1")
        const plain = yield* events(afterFailure)
        const consented = yield* events(afterFailure, { eligible: () => true })
        for (const [open, request, copies] of [
          [plain, post, 1],
          [plain, keyed, 2],
          [consented, post, 2]
        ] as const) {
          const before = server.received.length
          yield* Effect.exit(Stream.runDrain(open(request)))
          expect(server.received.slice(before).map(({ body }) => body)).toStrictEqual(
            Array(copies).fill("{}")
          )
        }
      }).pipe(Effect.scoped, Effect.provide(undiciHttp1.layer))
  )

  it.live("a client that is hedged below does not hedge again", () =>
    Effect.gen(function* () {
      const server = yield* serve((_request, response) => {
        response.writeHead(503).end()
      })
      const client = (yield* HttpClient.HttpClient).pipe(HttpHedge.withHedge({ policy: afterFailure }))
      const open = client.pipe(HttpHedge.events({ policy: afterFailure }))
      yield* Effect.exit(Stream.runDrain(open(get(server.url))))
      expect(server.received).toHaveLength(2)
    }).pipe(Effect.scoped, Effect.provide(undiciHttp1.layer))
  )

  it.live("what the client below does to a request is done once a call", () =>
    Effect.gen(function* () {
      const server = yield* serve(
        roles(
          (_request, response) => response.writeHead(503).end(),
          (_request, response) => sendAll(response, ["a"])
        )
      )
      let tokens = 0
      const client = (yield* HttpClient.HttpClient).pipe(
        HttpClient.mapRequestEffect((request) =>
          Effect.sync(() => HttpClientRequest.setHeader(request, "x-token", String(++tokens)))
        ),
        HttpClient.mapRequest(HttpClientRequest.prependUrl(server.url))
      )
      const open = client.pipe(
        HttpHedge.events({ policy: afterFailure, headers: { attempt: attemptHeader } })
      )
      expect(yield* dataOf(open(get("/events")))).toStrictEqual(["a"])
      expect(server.received.map(({ path, headers }) => [path, headers["x-token"]])).toStrictEqual([
        ["/events", "1"],
        ["/events", "1"]
      ])
    }).pipe(Effect.scoped, Effect.provide(undiciHttp1.layer))
  )
})

describe("what is sent with options", () => {
  it.live("the time left, if a header is given for it", () =>
    Effect.gen(function* () {
      const server = yield* serve((_request, response) => sendAll(response, ["a"]))
      const policy = HedgePolicy.make({ schedule: HedgeSchedule.onFailure, deadline: "1 hour" })
      const client = yield* HttpClient.HttpClient
      const open = client.pipe(HttpHedge.events({ policy, headers: { deadline: "x-time-left" } }))
      expect(yield* dataOf(open(get(server.url)))).toStrictEqual(["a"])
      const left = Number(server.received[0]!.headers["x-time-left"])
      expect(left).toBeGreaterThan(3_590_000)
      expect(left).toBeLessThanOrEqual(3_600_000)
    }).pipe(Effect.scoped, Effect.provide(undiciHttp1.layer))
  )

  it.live("hedges to replicas, also if the client knows of nowhere else to send them", () =>
    Effect.gen(function* () {
      const own = yield* serve((_request, response) => {
        response.writeHead(503).end()
      })
      const replica = yield* serve((_request, response) => sendAll(response, ["a"]))
      const client = withOneConnection(yield* HttpClient.HttpClient)
      const open = client.pipe(HttpHedge.events({ policy: afterFailure, replicas: [replica.url] }))
      expect(yield* dataOf(open(get(own.url)))).toStrictEqual(["a"])
      expect(
        yield* Effect.exit(dataOf(client.pipe(HttpHedge.events({ policy: afterFailure }))(get(own.url))))
      ).toMatchObject({ _tag: "Failure" })
      expect(own.received).toHaveLength(2)
    }).pipe(Effect.scoped, Effect.provide(undiciHttp1.layer))
  )
})

describe("what a policy is told", () => {
  it.scopedLive("the time to the first event is learned apart from that to an answer", () =>
    Effect.gen(function* () {
      const server = yield* serve((_request, response) => sendAll(response, ["a"]))
      const context = yield* Layer.build(HedgePolicy.layerAdaptive({ extraLoad: 0.1 }))
      const policy = Context.get(context, HedgePolicy.DefaultPolicy)
      const open = (yield* HttpClient.HttpClient).pipe(HttpHedge.events({ policy }))
      yield* dataOf(open(get(`${server.url}/chats/7`)))
      expect(yield* HedgePolicy.keys(policy)).toContainEqual([server.url, "GET /chats/:id", "events"])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("of the events that it discards: those that decide, of streams that are not the result", () =>
    Effect.gen(function* () {
      const server = yield* serve((request, response) => {
        const attempt = request.headers[attemptHeader]
        if (attempt === undefined) response.writeHead(503).end()
        else if (attempt === "1") sendAll(response, ["role"])
        else if (attempt === "2") sendAll(response, ["role", "stale"])
        else sendAll(response, ["role", "token"])
      })
      const discarded: Array<string> = []
      const policy = HedgePolicy.make<HttpHedge.ServerSentEvent, unknown>({
        schedule: HedgeSchedule.onFailure,
        throttle: HedgeThrottle.unlimited,
        maxAttempts: 4,
        classify: (exit) =>
          Exit.isSuccess(exit) && exit.value.data === "token" ? HedgeOutcome.win : HedgeOutcome.nonFatal(),
        onDiscard: ({ data }) =>
          Effect.sync(() => {
            discarded.push(data)
          })
      })
      const open = yield* events(policy, { decisive: ({ data }) => data !== "role" })
      expect(yield* dataOf(open(get(server.url)))).toStrictEqual(["role", "token"])
      expect(discarded).toStrictEqual(["stale"])
      const plain = yield* events(policy)
      yield* Effect.exit(dataOf(plain(get(server.url))))
      expect(discarded).toContain("role")
    }).pipe(Effect.provide(undiciHttp1.layer))
  )
})

describe("what counts as an answer", () => {
  it.live("a 503 is another attempt's turn, with its pushback heeded", () =>
    Effect.gen(function* () {
      const recorder = new Recorder()
      const server = yield* serve((request, response) => {
        if (isHedge(request)) sendAll(response, ["a"])
        else response.writeHead(503, { "retry-after": "3600" }).write("a body without an end")
      })
      const patient = yield* events(afterFailure)
      const exit = yield* Effect.exit(dataOf(patient(get(server.url))).pipe(Effect.provide(recorder.layer)))
      expect(Exit.isFailure(exit)).toBe(true)
      expect(recorder.of("HedgeSuppressed")).toMatchObject([{ reason: "Pushback" }])
      expect(server.received).toHaveLength(1)
    }).pipe(Effect.scoped, Effect.provide(undiciHttp1.layer))
  )

  it.live(
    "if no attempt has a good answer, the stream fails with the primary's, whose body can be read",
    () =>
      withServer(
        (request, response) => {
          response.writeHead(isHedge(request) ? 500 : 503).end(JSON.stringify({ error: "overloaded" }))
        },
        (url) =>
          Effect.gen(function* () {
            const open = yield* events(afterFailure)
            const error = yield* Effect.flip(Stream.runDrain(open(get(url))))
            expect(error).toMatchObject({
              _tag: "ResponseError",
              reason: "StatusCode",
              response: { status: 503 }
            })
            const { response } = error as HttpClientError.ResponseError
            expect(yield* response.json).toStrictEqual({ error: "overloaded" })
          })
      )
  )

  it.scopedLive("a 404 is an answer, which is not hedged; a body of it that does not end is given up", () =>
    Effect.gen(function* () {
      const server = yield* serve((_request, response) => {
        response.writeHead(404).write("half")
      })
      const open = yield* events(afterFailure)
      const error = yield* Effect.flip(Stream.runDrain(open(get(server.url))))
      expect(error).toMatchObject({
        reason: "StatusCode",
        description: "non 2xx status code",
        response: { status: 404 }
      })
      expect(server.received).toHaveLength(1)
      yield* server.until(({ cancelled, open }) => cancelled === 1 && open === 0)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.live("another content type is none", () =>
    withServer(
      (request, response) => {
        if (isHedge(request)) return sendAll(response, ["a"])
        response.writeHead(200, { "content-type": "application/json" }).end("{}")
      },
      (url) =>
        Effect.gen(function* () {
          const open = yield* events(afterFailure)
          expect(yield* dataOf(open(get(url)))).toStrictEqual(["a"])
          const alone = yield* events(afterFailure, { classify: () => HedgeOutcome.win })
          expect(yield* Effect.flip(dataOf(alone(get(url))))).toMatchObject({
            reason: "Decode",
            description: "content type application/json instead of text/event-stream"
          })
        })
    )
  )

  it.live.each([
    ["without a content type", {}],
    ["with parameters of it", { "content-type": "Text/Event-Stream; charset=utf-8" }]
  ] as const)("events %s are events", ([_, headers]) =>
    withServer(
      (_request, response) => response.writeHead(200, headers).end("data: a\n\n"),
      (url) =>
        Effect.gen(function* () {
          const open = yield* events(afterFailure)
          expect(yield* dataOf(open(get(url)))).toStrictEqual(["a"])
        })
    )
  )

  it.live("a stream that ends before its first event is none; if all do, the result is empty", () =>
    Effect.gen(function* () {
      let eventsOfHedge: ReadonlyArray<string> = ["a"]
      const server = yield* serve(
        roles(
          (_request, response) => begin(response).end(": nothing to say\n\n"),
          (_request, response) => sendAll(response, eventsOfHedge)
        )
      )
      const open = yield* events(afterFailure)
      expect(yield* dataOf(open(get(server.url)))).toStrictEqual(["a"])
      eventsOfHedge = []
      expect(yield* dataOf(open(get(server.url)))).toStrictEqual([])
    }).pipe(Effect.scoped, Effect.provide(undiciHttp1.layer))
  )

  it.live("what does not decide is kept until something does, and then comes first", () =>
    Effect.gen(function* () {
      const server = yield* serve(
        roles(
          (_request, response) => {
            begin(response).write("data: role\n\ndata: role again\n\n")
          },
          (_request, response) => {
            begin(response).write("data: role\n\n", () =>
              response.write("data: token\n\ndata: role\n\n", () =>
                setImmediate(() => response.end("data: more\n\n"))
              )
            )
          }
        )
      )
      const decisive = ({ data }: HttpHedge.ServerSentEvent) => !data.startsWith("role")
      const open = yield* events(both, { decisive })
      expect(yield* dataOf(open(get(server.url)))).toStrictEqual(["role", "token", "role", "more"])
    }).pipe(Effect.scoped, Effect.provide(undiciHttp1.layer))
  )

  it.live("a stream without a decisive event is no answer; if all are so, the primary's is the result", () =>
    withServer(
      (request, response) => sendAll(response, [isHedge(request) ? "role of a hedge" : "role", "role"]),
      (url) =>
        Effect.gen(function* () {
          const seen: Array<string> = []
          const open = yield* events(afterFailure, {
            decisive: () => false,
            classify: (exit) => {
              seen.push(Exit.isFailure(exit) && Cause.isEmpty(exit.cause) ? "none" : "some")
              return HedgeOutcome.nonFatal()
            }
          })
          expect(yield* dataOf(open(get(url)))).toStrictEqual(["role", "role"])
          expect(seen).toStrictEqual(["none", "none"])
        })
    )
  )

  it.live("classify sees first events, and errors with their responses", () =>
    withServer(
      (request, response) => sendAll(response, [isHedge(request) ? "good" : "error", "more"]),
      (url) =>
        Effect.gen(function* () {
          const open = yield* events(afterFailure, {
            classify: (exit) =>
              Exit.isSuccess(exit) && exit.value.data === "error" ? HedgeOutcome.nonFatal() : HedgeOutcome.win
          })
          expect(yield* dataOf(open(get(url)))).toStrictEqual(["good", "more"])
          const discarded: Array<string> = []
          const policy = HedgePolicy.make({
            schedule: HedgeSchedule.onFailure,
            throttle: HedgeThrottle.unlimited,
            classify: (exit: Exit.Exit<HttpHedge.ServerSentEvent, unknown>) =>
              Exit.isSuccess(exit) && exit.value.data === "error"
                ? HedgeOutcome.nonFatal()
                : HedgeOutcome.win,
            onDiscard: ({ data }) => Effect.sync(() => discarded.push(data))
          })
          const own = yield* events(policy)
          expect(yield* dataOf(own(get(url)))).toStrictEqual(["good", "more"])
          expect(discarded).toStrictEqual(["error"])
        })
    )
  )

  it.live("nothing before the deadline is a HedgeError, and every request is given up", () =>
    Effect.gen(function* () {
      const server = yield* serve(silent)
      const policy = HedgePolicy.make({
        schedule: HedgeSchedule.parallel,
        throttle: HedgeThrottle.unlimited,
        deadline: 100
      })
      const client = yield* HttpClient.HttpClient
      const error = yield* Effect.flip(
        Stream.runDrain(client.pipe(HttpHedge.events({ policy }))(get(server.url)))
      )
      expect(error).toBeInstanceOf(Hedge.HedgeError)
      yield* server.until(({ cancelled }) => cancelled === server.received.length)
    }).pipe(Effect.scoped, Effect.provide(undiciHttp1.layer))
  )
})

describe("policies of hedged events", () => {
  it.live("may come from a layer, and learn apart from whole answers of the route", () =>
    withServer(
      (_request, response) => sendAll(response, ["a"]),
      (url) =>
        Effect.gen(function* () {
          const open = (yield* HttpClient.HttpClient).pipe(HttpHedge.events())
          yield* dataOf(open(get(`${url}/tokens/42`)))
          const policy = yield* HedgePolicy.DefaultPolicy
          const known = yield* HedgePolicy.inspect(policy, [url, "GET /tokens/:id", "events"])
          expect(Option.map(known, ({ samples }) => samples)).toStrictEqual(Option.some(1))
        }).pipe(Effect.provide(HedgePolicy.layerAdaptive({ extraLoad: 0.1 })))
    )
  )

  it("options that make no sense are refused", () => {
    expect(() => HttpHedge.events({ replicas: [] })).toThrow(HedgePolicy.HedgePolicyError)
    expect(() => HttpHedge.events({ decisive: true as never })).toThrow(HedgePolicy.HedgePolicyError)
    expect(() => HttpHedge.withHedge({ decisive: () => true } as never)).toThrow(HedgePolicy.HedgePolicyError)
    expect(() => HttpHedge.events({ retries: 3 } as never)).toThrow(HedgePolicy.HedgePolicyError)
    expect(() => HttpHedge.events()(42 as never)).toThrow(HedgePolicy.HedgePolicyError)
  })
})
