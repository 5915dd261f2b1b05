import { constants, type ServerHttp2Stream } from "node:http2"
import { HttpClient, HttpClientRequest } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { HttpHedge } from "@effect-hedge/platform"
import { type LaneEvent, NodeHedgeClient } from "@effect-hedge/platform-node"
import { Effect, Exit, Fiber, Layer, Scope, TestClock } from "effect"
import { Hedge, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import { Recorder } from "../../platform/test/support/recorder.js"
import { serve } from "../../platform/test/support/server.js"
import { idle, lanes, protocols, until } from "./support/clients.js"
import { relay } from "./support/relay.js"

const text = (url: string) =>
  Effect.flatMap(HttpClient.HttpClient, (client) =>
    Effect.flatMap(client.get(url), (response) => response.text)
  )

describe.each(protocols)("Lanes over $protocol", ({ protocol }) => {
  it.scopedLive("close when nobody has used them for a while", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, response) => response.end("answer"), protocol)
      yield* text(server.url)
      yield* server.until(({ sockets }) => sockets.size === 0)
      yield* until(([upstream]) => upstream?.lanes.length === 0)
    }).pipe(Effect.provide(lanes({ keepAlive: "50 millis" })))
  )

  it.scopedLive("close with the client: what waits fails, what is under way may end", () =>
    Effect.gen(function* () {
      let answer = () => {}
      const server = yield* serve((_, response) => {
        answer = () => response.end("answer")
      }, protocol)
      const scope = yield* Scope.make()
      const client = yield* Layer.buildWithScope(
        lanes({ lanes: 1, streamsPerLane: 1, closeGrace: "20 seconds" }),
        scope
      )
      const first = yield* Effect.fork(Effect.provide(text(server.url), client))
      yield* server.until(({ received }) => received.length === 1)
      const second = yield* Effect.fork(Effect.flip(Effect.provide(text(server.url), client)))
      yield* Effect.provide(
        until(([upstream]) => upstream?.waiting === 1),
        client
      )
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      expect(yield* Fiber.join(second)).toMatchObject({ _tag: "RequestError", reason: "Transport" })
      answer()
      expect(yield* Fiber.join(first)).toBe("answer")
      yield* Fiber.join(closing)
      yield* server.until(({ sockets }) => sockets.size === 0)
      expect(yield* Effect.flip(Effect.provide(text(server.url), client))).toMatchObject({
        reason: "Transport"
      })
    })
  )

  it.scopedLive("close by force when the grace is over", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => {}, protocol)
      const scope = yield* Scope.make()
      const client = yield* Layer.buildWithScope(lanes({ closeGrace: 0 }), scope)
      const fiber = yield* Effect.fork(Effect.flip(Effect.provide(text(server.url), client)))
      yield* server.until(({ received }) => received.length === 1)
      yield* Scope.close(scope, Exit.void)
      expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "RequestError", reason: "Transport" })
      yield* server.until(({ sockets }) => sockets.size === 0)
    })
  )

  it.scopedLive("lead to a pinned address, under the name of the upstream", () =>
    Effect.gen(function* () {
      const server = yield* serve(({ headers }, response) => {
        response.end(String(headers[":authority"] ?? headers.host))
      }, protocol)
      const origin = `${server.url.startsWith("https") ? "https" : "http"}://no-such-name.invalid`
      const options = {
        upstreams: { [origin]: { address: `127.0.0.1:${server.port}` } },
        tls: { checkServerIdentity: () => undefined }
      }
      const client = yield* Layer.build(lanes(options))
      expect(yield* Effect.provide(text(`${origin}/`), client)).toBe("no-such-name.invalid")
    })
  )

  it.scopedLive("for long streams are others than those for short requests", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, response) => response.end("answer"), protocol)
      const client = yield* HttpClient.HttpClient
      yield* text(server.url)
      yield* client.execute(HttpClientRequest.get(server.url, { headers: { accept: "text/event-stream" } }))
      yield* NodeHedgeClient.longStream(text(server.url))
      yield* idle
      const { report } = yield* NodeHedgeClient.NodeHedgeClient
      const requests = (yield* report).map(({ lanes, long }) => [
        long,
        lanes.reduce((sum, { requests }) => sum + requests, 0)
      ])
      expect(requests).toEqual([
        [false, 1],
        [true, 2]
      ])
    }).pipe(Effect.provide(lanes()))
  )

  it.scopedLive("tell what happens, and where the time of a request went", () =>
    Effect.gen(function* () {
      const events: Array<LaneEvent.LaneEvent> = []
      const layer = lanes({ listeners: [{ onEvent: (event) => events.push(event) }] })
      const server = yield* serve((_, response) => response.end("answer"), protocol)
      const twice = Effect.zipRight(text(server.url), Effect.zipRight(idle, text(server.url)))
      yield* Effect.scoped(Effect.flatMap(Layer.build(layer), (client) => Effect.provide(twice, client)))
      expect(events.map(({ _tag }) => _tag)).toEqual([
        "LaneOpened",
        "RequestEnded",
        "RequestEnded",
        "LaneDraining",
        "LaneClosed"
      ])
      const [first, second] = events.filter((event) => event._tag === "RequestEnded")
      const millis = expect.any(Number)
      const tls = protocol === "HTTP/1.1" ? undefined : millis
      const sent = { queued: millis, acquired: millis, sent: millis, firstByte: millis, body: millis }
      expect(first).toMatchObject({ fresh: true, outcome: "Completed", status: 200, activeStreams: 0 })
      expect(first!.phases).toEqual({ ...sent, dns: undefined, tcp: millis, tls })
      expect(second).toMatchObject({ fresh: false, lane: first!.lane })
      expect(second!.phases).toEqual({ ...sent, dns: undefined, tcp: undefined, tls: undefined })
    })
  )
})

describe("A hedge", () => {
  const policy = HedgePolicy.make({ schedule: HedgeSchedule.fixed(10), throttle: HedgeThrottle.unlimited })
  const hedged = Effect.map(
    HttpClient.HttpClient,
    HttpHedge.withHedge({ policy, headers: { attempt: "x-attempt" } })
  )

  it.scopedLive.each(protocols)("over $protocol takes another lane than its primary", ({ layer, protocol }) =>
    Effect.gen(function* () {
      const server = yield* serve(({ headers }, response) => {
        if (headers["x-attempt"] !== undefined) response.end("answer")
      }, protocol)
      const response = yield* Effect.flatMap(hedged, (client) => client.get(server.url))
      expect(yield* response.text).toBe("answer")
      expect(server.connections).toBe(2)
      yield* idle
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive.each(protocols)("over $protocol is suppressed if there is no other lane", ({ protocol }) =>
    Effect.gen(function* () {
      const recorder = new Recorder()
      let answer = () => {}
      const server = yield* serve((_, response) => {
        answer = () => response.end("answer")
      }, protocol)
      const call = Effect.flatMap(hedged, (client) =>
        Effect.flatMap(client.get(server.url), (response) => response.text)
      )
      const fiber = yield* Effect.fork(Effect.provide(call, recorder.layer))
      yield* recorder.until("HedgeSuppressed")
      expect(recorder.of("HedgeSuppressed")[0]!.reason).toBe("NoDistinctTarget")
      answer()
      expect(yield* Fiber.join(fiber)).toBe("answer")
      expect(server.received.length).toBe(1)
    }).pipe(Effect.provide(lanes({ lanes: 1 })))
  )
})

/** Lets real time pass, over a connection of its own, so that what waits meanwhile has waited for long. */
const someTime = Effect.gen(function* () {
  const server = yield* serve((_, response) => response.end())
  const client = yield* Layer.build(lanes())
  const from = performance.now()
  while (performance.now() < from + 3) yield* Effect.provide(text(server.url), client)
})

describe("An attempt", () => {
  it.scoped.each(protocols)("over $protocol takes the only lane when the others have ended", ({ protocol }) =>
    Effect.gen(function* () {
      let status = 503
      const server = yield* serve((_, response) => {
        response.statusCode = status
        response.end("answer")
        status = 200
      }, protocol)
      const client = yield* HttpClient.HttpClient
      // the primary has to do something else first
      const attempt = ({ index }: { readonly index: number }) =>
        client.get(server.url).pipe(
          Effect.delay(index === 0 ? 200 : 0),
          Effect.filterOrFail(
            ({ status }) => status === 200,
            () => "busy"
          ),
          Effect.flatMap(({ text }) => text)
        )
      const policy = { schedule: HedgeSchedule.fixed(50), throttle: HedgeThrottle.unlimited }
      const call = yield* Effect.fork(Hedge.hedgeWith(attempt, policy))
      yield* TestClock.adjust(50)
      yield* server.until(({ received, open }) => received.length === 1 && open === 0)
      yield* idle
      yield* TestClock.adjust(150)
      expect(yield* Fiber.join(call)).toBe("answer")
      expect(server.connections).toBe(1)
    }).pipe(Effect.provide(lanes({ lanes: 1 })))
  )
})

describe("The stagger of an attempt that waits for its lane", () => {
  const delay = 80
  const policy = HedgePolicy.make({
    schedule: HedgeSchedule.fixed(delay),
    throttle: HedgeThrottle.unlimited
  })
  const call = (url: string, options: HttpHedge.Options = {}) =>
    Effect.gen(function* () {
      const client = yield* HttpClient.HttpClient
      return yield* client.pipe(HttpHedge.withHedge({ ...options, policy })).get(url)
    })

  it.scoped.each(protocols)("begins when it is sent, over $protocol", ({ protocol }) =>
    Effect.gen(function* () {
      const recorder = new Recorder()
      const answers: Array<() => void> = []
      const server = yield* serve((_, response) => {
        answers.push(() => response.end("answer"))
      }, protocol)
      for (const count of [1, 2]) {
        yield* Effect.fork(text(server.url))
        yield* server.until(({ received }) => received.length === count)
      }
      yield* Effect.fork(Effect.provide(call(server.url), recorder.layer))
      yield* until(([upstream]) => upstream?.waiting === 1)
      yield* someTime
      yield* TestClock.adjust(10 * delay)
      for (const answer of answers) answer()
      yield* server.until(({ received }) => received.length === 3)
      yield* TestClock.adjust(delay - 1)
      expect(recorder.started).toBe(1)
      expect(recorder.of("HedgeSuppressed")).toEqual([])
      yield* TestClock.adjust(1)
      expect(recorder.started).toBe(2)
      yield* server.until(({ received }) => received.length === 4)
      answers.at(-1)!()
      yield* recorder.until("CallEnded")
    }).pipe(Effect.provide(lanes({ lanes: 2, streamsPerLane: 1 })))
  )

  it.scoped("begins when it gives up waiting, and sends another request", () =>
    Effect.gen(function* () {
      const recorder = new Recorder()
      const busy = yield* serve(() => {})
      const other = yield* serve(({ path }, response) => {
        if (path === "/warm") response.end()
      })
      const client = yield* Layer.build(lanes({ upstreams: { [busy.url]: { lanes: 1 } } }))
      yield* Effect.fork(Effect.provide(text(busy.url), client))
      yield* busy.until(({ received }) => received.length === 1)
      yield* Effect.provide(text(`${other.url}/warm`), client)
      const attempt = text(busy.url).pipe(
        Effect.timeout("50 millis"),
        Effect.orElse(() => text(other.url))
      )
      const call = Hedge.hedge(attempt, policy)
      yield* Effect.fork(call.pipe(Effect.provide(client), Effect.provide(recorder.layer)))
      yield* Effect.provide(
        until(([upstream]) => upstream?.waiting === 1),
        client
      )
      yield* TestClock.adjust(50)
      yield* other.until(({ received }) => received.length === 2)
      yield* TestClock.adjust(delay - 1)
      expect(recorder.started).toBe(1)
      yield* TestClock.adjust(1)
      expect(recorder.started).toBe(2)
    })
  )

  it.scoped("begins when a hedge could have a connection of its own", () =>
    Effect.gen(function* () {
      const recorder = new Recorder()
      const server = yield* serve(() => {}, "HTTP/1.1 over TLS")
      // leads to the server twice, then to nobody
      const relayed = yield* relay(server.port, 2)
      const client = yield* Layer.build(
        lanes({ lanes: 2, upstreams: { [new URL(server.url).origin]: { address: relayed.address } } })
      )
      for (const count of [1, 2]) {
        yield* Effect.fork(Effect.provide(Effect.flip(text(server.url)), client))
        yield* server.until(({ received }) => received.length === count)
      }
      yield* Effect.fork(call(server.url).pipe(Effect.provide(client), Effect.provide(recorder.layer)))
      yield* Effect.provide(
        until(([upstream]) => upstream?.waiting === 1),
        client
      )
      yield* TestClock.adjust(10 * delay)
      relayed.cut()
      yield* Effect.provide(
        until(([upstream]) => upstream?.connecting === 1),
        client
      )
      yield* TestClock.adjust(delay - 1)
      expect(recorder.started).toBe(1)
      yield* TestClock.adjust(1)
      expect(recorder.started).toBe(2)
      expect(recorder.of("HedgeSuppressed")).toEqual([])
    })
  )

  it.scoped("begins at once where hedges go to a replica", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => {})
      const replica = yield* serve((_, response) => response.end("answer"))
      yield* Effect.fork(text(server.url))
      yield* server.until(({ received }) => received.length === 1)
      const fiber = yield* Effect.fork(call(server.url, { replicas: [replica.url] }))
      yield* until(([upstream]) => upstream?.waiting === 1)
      yield* TestClock.adjust(delay)
      expect((yield* Fiber.join(fiber)).status).toBe(200)
      expect(server.received.length).toBe(1)
    }).pipe(Effect.provide(lanes({ lanes: 1, closeGrace: 0 })))
  )

  it.scoped("begins anew when the server refuses it and it is sent again", () =>
    Effect.gen(function* () {
      const recorder = new Recorder()
      const refusals: Array<() => void> = []
      const server = yield* serve((_, response) => {
        const { stream } = response as unknown as { readonly stream: ServerHttp2Stream }
        refusals.push(() => stream.close(constants.NGHTTP2_REFUSED_STREAM))
      }, "HTTP/2")
      const fiber = yield* Effect.fork(Effect.provide(call(server.url), recorder.layer))
      yield* server.until(({ received }) => received.length === 1)
      yield* someTime
      yield* TestClock.adjust(delay - 1)
      refusals[0]!()
      yield* server.until(({ received }) => received.length === 2)
      yield* TestClock.adjust(delay - 1)
      expect(recorder.started).toBe(1)
      yield* TestClock.adjust(1)
      expect(recorder.started).toBe(2)
      yield* Fiber.interrupt(fiber)
    }).pipe(Effect.provide(lanes()))
  )
})

describe("Lanes of HTTP/1.1", () => {
  it.scopedLive("that the server has closed are replaced unnoticed, if nothing has been sent on them", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, response) => response.end("answer"))
      for (let i = 0; i < 5; i++) {
        expect(yield* text(server.url)).toBe("answer")
        yield* idle
        for (const socket of server.sockets) socket.end()
      }
    }).pipe(Effect.provide(lanes()))
  )

  it.scopedLive("that the server resets are replaced unnoticed, if nothing has been sent on them", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, response) => response.end("answer"))
      for (let i = 0; i < 5; i++) {
        expect(yield* text(server.url)).toBe("answer")
        yield* idle
        // of a turn's phases, in which the client goes on before it can read of the end
        yield* Effect.async<void>((resume) => {
          setTimeout(() => {
            for (const socket of server.sockets) socket.resetAndDestroy()
            resume(Effect.void)
          })
        })
      }
    }).pipe(Effect.provide(lanes()))
  )

  it.scopedLive("take no other request after a DELETE with a body", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, response) => response.end("answer"))
      const client = yield* HttpClient.HttpClient
      const request = HttpClientRequest.bodyUnsafeJson(HttpClientRequest.del(server.url), { why: "old" })
      const call = Effect.flatMap(client.execute(request), ({ text }) => text)
      const answers = yield* Effect.all(
        Array.from({ length: 5 }, () => call),
        { concurrency: "unbounded" }
      )
      expect(new Set(answers)).toEqual(new Set(["answer"]))
      expect([server.received.length, server.connections]).toEqual([5, 5])
    }).pipe(Effect.provide(lanes({ lanes: 1 })))
  )

  it.scopedLive("over TLS say the port 80 in the host", () =>
    Effect.gen(function* () {
      const server = yield* serve(({ headers }, response) => response.end(headers.host), "HTTP/1.1 over TLS")
      const upstreams = { "https://127.0.0.1:80": { address: `127.0.0.1:${server.port}` } }
      const client = yield* Layer.build(lanes({ upstreams }))
      expect(yield* Effect.provide(text("https://127.0.0.1:80/"), client)).toBe("127.0.0.1:80")
    })
  )
})

describe("A connection that fails", () => {
  it.scopedLive("fails those who wait with its error, and is tried again", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, response) => response.end("answer"))
      const { port, url } = server
      yield* server.stop
      const failures = yield* Effect.all(
        Array.from({ length: 40 }, () => Effect.flip(text(url))),
        { concurrency: "unbounded" }
      )
      for (const failure of failures) {
        expect(failure).toMatchObject({ reason: "Transport", cause: { code: "ECONNREFUSED" } })
      }
      yield* server.listen(port)
      expect(yield* Effect.retry(text(url), { times: 10_000 })).toBe("answer")
    }).pipe(Effect.provide(lanes()))
  )

  it.scopedLive("fails all who wait where the lanes that are left take no more requests", () =>
    Effect.gen(function* () {
      let connectFailures = 0
      const listener: LaneEvent.Listener = {
        onEvent: ({ _tag }) => {
          if (_tag === "ConnectFailed") connectFailures++
        }
      }
      const client = yield* Layer.build(lanes({ listeners: [listener] }))
      let finish = () => {}
      const server = yield* serve(({ path }, response) => {
        if (path === "/last") {
          const { stream } = response as unknown as { readonly stream: ServerHttp2Stream }
          response.writeHead(200).write("the last ")
          finish = () => response.end("answer")
          stream.session?.goaway(constants.NGHTTP2_NO_ERROR)
        } else response.end("answer")
      }, "HTTP/2")
      const { url } = server
      const retire = Effect.gen(function* () {
        const last = yield* Effect.fork(text(`${url}/last`))
        yield* server.until(({ received }) => received.length === 1)
        // as a server does that is replaced: it ends what runs, and accepts nothing new
        yield* server.refuse
        yield* until(([upstream]) => upstream?.lanes[0]?.state === "draining")
        const failures = yield* Effect.all(
          Array.from({ length: 40 }, () => Effect.flip(text(url))),
          { concurrency: "unbounded" }
        )
        for (const failure of failures) expect(failure).toMatchObject({ cause: { code: "ECONNREFUSED" } })
        const { report } = yield* NodeHedgeClient.NodeHedgeClient
        expect(yield* report).toMatchObject([{ waiting: 0, lanes: [{ state: "draining" }] }])
        finish()
        expect(yield* Fiber.join(last)).toBe("the last answer")
      })
      yield* Effect.provide(retire, client)
      // as many as there may be lanes, twice, and not one for each request
      expect(connectFailures).toBeLessThanOrEqual(8)
    })
  )

  it.scopedLive("fails none who came when it was being opened already: the next is tried for them", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => {})
      const { url } = server
      yield* server.stop
      const failed: Array<LaneEvent.ConnectFailed> = []
      const listener: LaneEvent.Listener = {
        onEvent: (event) => {
          if (event._tag === "ConnectFailed") failed.push(event)
        }
      }
      const failuresBefore = Effect.gen(function* () {
        const first = yield* Effect.fork(text(url))
        yield* Effect.yieldNow()
        yield* Fiber.interrupt(first)
        const { report } = yield* NodeHedgeClient.NodeHedgeClient
        expect(yield* report).toMatchObject([{ connecting: 1, waiting: 0 }])
        yield* Effect.flip(text(url))
        return failed.length
      })
      expect(yield* Effect.provide(failuresBefore, lanes({ listeners: [listener] }))).toBe(2)
    })
  )

  it.scopedLive("because its certificate is unknown fails with a transport error", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, response) => response.end("answer"), "HTTP/1.1 over TLS")
      expect(yield* Effect.flip(text(server.url))).toMatchObject({
        _tag: "RequestError",
        reason: "Transport"
      })
    }).pipe(Effect.provide(NodeHedgeClient.layer()))
  )

  it.scopedLive("because of options of tls.connect that only a connection can refuse fails", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(text("https://127.0.0.1:1"))
      expect(failure).toMatchObject({ _tag: "RequestError", cause: { code: "ERR_INVALID_IP_ADDRESS" } })
    }).pipe(
      Effect.provide(
        NodeHedgeClient.layer({
          tls: { localAddress: "nowhere" } as NodeHedgeClient.Defaults["tls"] & object
        })
      )
    )
  )

  it.scopedLive("because the server does not speak the protocol says so", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, response) => response.end("answer"), "HTTP/1.1 over TLS")
      const { cause } = yield* Effect.flip(text(server.url))
      expect(cause).toBeInstanceOf(Error)
    }).pipe(Effect.provide(lanes({ protocol: "h2" })))
  )
})

describe("Options", () => {
  const refused = (options: object): string => {
    try {
      NodeHedgeClient.layer(options)
      return "accepted"
    } catch (error) {
      expect(error).toBeInstanceOf(HedgePolicy.HedgePolicyError)
      return (error as HedgePolicy.HedgePolicyError).field
    }
  }

  it.each([
    [{ lanes: 0 }, "lanes"],
    [{ protocol: "h3" }, "protocol"],
    [{ connectTimeout: "-1 second" }, "connectTimeout"],
    [{ keepAlive: Infinity }, "keepAlive"],
    [{ windowSize: 100 }, "windowSize"],
    [{ address: "10.0.0.1" }, "address"],
    [{ tls: { ALPNProtocols: ["h2"] } }, "tls.ALPNProtocols"],
    [{ longStreams: { lane: 1 } }, "longStreams.lane"],
    [{ upstreams: { "api.example.com": {} } }, "upstreams"],
    [{ upstreams: { "https://a.example": { address: "a:b:c" } } }, 'upstreams["https://a.example"].address'],
    [{ listeners: [{}] }, "listeners[0].onEvent"],
    [{ closeGrace: Number.NaN }, "closeGrace"],
    [{ closeGrace: -1n }, "closeGrace"],
    [{ closeGrace: [-1, 0] }, "closeGrace"],
    [{ tls: { ca: 5 } }, "tls"],
    [{ tls: { minVersion: "TLSv9" } }, "tls"],
    [{ tls: { cert: "no certificate", key: "no key" } }, "tls"],
    [{ tls: { checkServerIdentity: true } }, "tls.checkServerIdentity"],
    [{ tls: { rejectUnauthorized: "no" } }, "tls.rejectUnauthorized"]
  ])("%o are refused by the name of the field", (options, field) => {
    expect(refused(options)).toBe(field)
  })

  it("of each kind are accepted", () => {
    const upstream = {
      address: "[::1]:8443",
      protocol: "h2",
      lanes: 2,
      pingInterval: Infinity,
      tls: { ca: "" }
    }
    expect(refused({ upstreams: { "https://a.example": upstream }, resetsPerSecond: 0.5 })).toBe("accepted")
  })
})
