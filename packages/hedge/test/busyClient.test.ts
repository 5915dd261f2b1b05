import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { Worker } from "node:worker_threads"
import { afterEach, describe, expect, it, vi } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import { Hedge, type HedgeAttempt, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import { FakeLoop } from "./fakeLoop.js"

/*
 * C51, R11: the stagger counts only time in which this process could have seen an answer.
 */

const throttle = HedgeThrottle.unlimited

/** Keeps the event loop from turning. */
const block = (millis: number): void => {
  const end = performance.now() + millis
  while (performance.now() < end) {}
}

const schedules = {
  "a HedgeSchedule": HedgeSchedule.fixed("80 millis"),
  "an ordinary schedule": Schedule.spaced("80 millis")
}

describe("C51: with the event loop really blocked for 300 ms from the launch", () => {
  for (const [name, schedule] of Object.entries(schedules)) {
    it(`and the answer waiting in a socket, no hedge is sent after 80 ms, by ${name}`, async () => {
      // a server that is not blocked: it answers each byte after 10 ms
      const server = new Worker(
        `const { createServer } = require("node:net")
         const { parentPort } = require("node:worker_threads")
         const server = createServer((socket) => {
           socket.on("data", (data) => setTimeout(() => socket.write(data), 10))
           socket.on("error", () => {})
         })
         server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port))`,
        { eval: true }
      )
      const [port] = await once(server, "message")
      const sockets: Array<Socket> = []
      for (let i = 0; i < 2; i++) {
        const socket = connect(port, "127.0.0.1")
        await once(socket, "connect")
        sockets.push(socket)
      }
      let starts = 0
      const attempt = Effect.async<string>((resume) => {
        const socket = sockets[starts++]!
        socket.once("data", (data) => resume(Effect.succeed(data.toString())))
        socket.write("x")
      })
      const answer = Effect.runPromise(Hedge.hedge(attempt, { schedule, throttle }))
      block(300)
      expect(await answer).toBe("x")
      expect(starts).toBe(1)
      for (const socket of sockets) socket.destroy()
      await server.terminate()
    })

    it(`in bursts, between which the answer needs turns of the loop, no hedge is sent, by ${name}`, async () => {
      let starts = 0
      const turns = (left: number, done: () => void): void => {
        if (left === 0) done()
        else setImmediate(turns, left - 1, done)
      }
      const attempt = Effect.async<string>((resume) => {
        starts += 1
        turns(5, () => resume(Effect.succeed("answer")))
      })
      let bursts = 6
      const burst = (): void => {
        block(60)
        bursts -= 1
        if (bursts > 0) setImmediate(burst)
      }
      setImmediate(burst)
      expect(await Effect.runPromise(Hedge.hedge(attempt, { schedule, throttle }))).toBe("answer")
      expect(starts).toBe(1)
    })

    it(`a hedge is sent all the same when no answer comes, by ${name}`, async () => {
      let starts = 0
      const attempt = Effect.suspend(() => (++starts === 1 ? Effect.never : Effect.succeed("hedge")))
      const answer = Effect.runPromise(Hedge.hedge(attempt, { schedule, throttle }))
      block(300)
      expect(await answer).toBe("hedge")
      expect(starts).toBe(2)
    })
  }
})

describe("C51: on a simulated event loop", () => {
  let loop: FakeLoop
  afterEach(() => loop.restore())

  /** A call whose attempts are answered when input arrives, if they are, and when each attempt was launched. */
  const call = (
    answers: ReadonlyArray<number | undefined>,
    rest: { readonly maxAttempts?: number; readonly deadline?: number } = {},
    schedule: Schedule.Schedule<unknown, HedgeSchedule.HedgeState> = HedgeSchedule.fixed(80)
  ) => {
    const launchedAt: Array<number> = []
    const startedAt = loop.now
    const attempt = Effect.async<number>((resume) => {
      const index = launchedAt.length
      launchedAt.push(loop.now - startedAt)
      const after = answers[index]
      if (after !== undefined) loop.input(after, () => resume(Effect.succeed(index)))
    })
    const fiber = Effect.runFork(Hedge.hedge(attempt, { schedule, throttle, ...rest }))
    return { launchedAt, fiber }
  }

  const end = async (fiber: Fiber.RuntimeFiber<unknown, unknown>): Promise<void> => {
    Effect.runFork(Fiber.interrupt(fiber))
    await loop.run(20)
  }

  it("that is idle, a hedge goes out after its delay and the timer's own lateness", async () => {
    loop = new FakeLoop()
    const { launchedAt, fiber } = call([undefined, undefined, undefined], { maxAttempts: 3 })
    await loop.run(300)
    expect(launchedAt).toHaveLength(3)
    expect(launchedAt[1]).toBeCloseTo(80, 1)
    expect(launchedAt[2]).toBeCloseTo(160, 1)
    await end(fiber)
  })

  for (const blocked of [100, 300, 5000]) {
    it(`that is stuck for ${blocked} ms from the launch, an answer that waits is read first`, async () => {
      loop = new FakeLoop()
      const { launchedAt, fiber } = call([20])
      loop.block(blocked)
      await loop.run(500)
      expect(fiber.unsafePoll()).toMatchObject({ value: 0 })
      expect(launchedAt).toHaveLength(1)
    })

    it(`that is stuck for ${blocked} ms, a hedge waits that much longer, less what is tolerated`, async () => {
      loop = new FakeLoop()
      const { launchedAt, fiber } = call([undefined, undefined])
      loop.block(blocked)
      await loop.run(500)
      expect(launchedAt[1]).toBeGreaterThanOrEqual(blocked + 80 - 8 - 1)
      expect(launchedAt[1]).toBeLessThanOrEqual(blocked + 80 + 1)
      await end(fiber)
    })
  }

  it("that is stuck for 70 of 80 ms, and free before the timer rings, the hedge waits as well", async () => {
    loop = new FakeLoop()
    const { launchedAt, fiber } = call([undefined, undefined])
    loop.block(70)
    await loop.run(300)
    expect(launchedAt[1]).toBeGreaterThanOrEqual(70 + 80 - 8 - 1)
    await end(fiber)
  })

  it("that is stuck again and again, an answer that comes within 80 ms that count wins", async () => {
    loop = new FakeLoop()
    const { launchedAt, fiber } = call([500])
    // of each 100 ms, 5 are free and at most 8 are tolerated
    for (let i = 0; i < 5; i++) {
      loop.block(95)
      await loop.run(5)
    }
    await loop.run(50)
    expect(fiber.unsafePoll()).toMatchObject({ value: 0 })
    expect(launchedAt).toHaveLength(1)
  })

  // input is read between the timer that ends a stagger, at 80 ms, and the launch of the hedge
  for (const [name, told, expected] of [
    ["sent after 50 ms", [[50, "sent"]], 130],
    ["sent as its stagger has just ended", [[80, "sent"]], 160],
    [
      "queued at once and sent after 300 ms",
      [
        [0, "queued"],
        [300, "sent"]
      ],
      380
    ],
    [
      "queued as its stagger has just ended and sent after 300 ms",
      [
        [80, "queued"],
        [300, "sent"]
      ],
      380
    ]
  ] as const) {
    it(`an attempt that is ${name} is hedged 80 ms later`, async () => {
      loop = new FakeLoop()
      const startedAt = loop.now
      const launchedAt: Array<number> = []
      let first: HedgeAttempt.HedgeAttempt | undefined
      const attempt = (attempt: HedgeAttempt.HedgeAttempt) =>
        Effect.suspend(() => {
          launchedAt.push(loop!.now - startedAt)
          first ??= attempt
          return Effect.never
        })
      const fiber = Effect.runFork(Hedge.hedgeWith(attempt, { schedule: HedgeSchedule.fixed(80), throttle }))
      for (const [after, tell] of told) loop.input(after, () => first![tell]())
      await loop.run(500)
      expect(launchedAt[1]).toBeGreaterThanOrEqual(expected - 1)
      expect(launchedAt[1]).toBeLessThanOrEqual(expected + 2)
      await end(fiber)
    })
  }

  it("that is stuck before the call starts, its hedge is on time", async () => {
    loop = new FakeLoop()
    const earlier = call([undefined, undefined])
    loop.block(200)
    const { launchedAt, fiber } = call([undefined, undefined])
    await loop.run(200)
    expect(launchedAt[1]).toBeLessThanOrEqual(82)
    expect(launchedAt[1]).toBeGreaterThanOrEqual(79)
    await end(fiber)
    await end(earlier.fiber)
  })

  it("whose 2,000 timers are each a millisecond or two late, every hedge goes out on time", async () => {
    loop = new FakeLoop()
    let seed = 1
    loop.lateness = () => {
      seed = (seed * 48_271) % 2_147_483_647
      return 1 + (seed % 1000) / 1000
    }
    const calls: Array<ReturnType<typeof call>> = []
    for (let i = 0; i < 200; i++) {
      for (let j = 0; j < 10; j++) calls.push(call([undefined, undefined]))
      await loop.run(0.1)
    }
    await loop.run(200)
    for (const { launchedAt } of calls) {
      expect(launchedAt[1]).toBeGreaterThanOrEqual(79)
      expect(launchedAt[1]).toBeLessThanOrEqual(84)
    }
    for (const { fiber } of calls) Effect.runFork(Fiber.interrupt(fiber))
    await loop.run(50)
    expect(loop.pending).toBe(0)
  })

  it("where input and timer come in one turn, the input is read before the hedge goes out", async () => {
    loop = new FakeLoop()
    loop.lateness = () => 0.5
    const { launchedAt, fiber } = call([80.2])
    await loop.run(200)
    expect(fiber.unsafePoll()).toMatchObject({ value: 0 })
    expect(launchedAt).toHaveLength(1)
  })

  it("where reading what waits takes long, the answer that comes in meanwhile wins", async () => {
    loop = new FakeLoop()
    loop.lateness = () => 0.5
    const { launchedAt, fiber } = call([120])
    // in the turn in which the stagger ends, somebody else's input keeps the loop busy
    loop.input(80.2, () => loop.block(60))
    await loop.run(300)
    expect(fiber.unsafePoll()).toMatchObject({ value: 0 })
    expect(launchedAt).toHaveLength(1)
  })

  it("the deadline and failures do not wait for the loop to have been free", async () => {
    loop = new FakeLoop()
    const { launchedAt, fiber } = call([undefined, undefined], { deadline: 200 })
    loop.block(300)
    await loop.run(20)
    expect(launchedAt).toHaveLength(1)
    expect(fiber.unsafePoll()).toMatchObject({ _tag: "Failure" })
  })

  it("nothing is measured while no stagger runs, and no timer is left when the last call has ended", async () => {
    loop = new FakeLoop()
    const waiting = call([undefined], {}, HedgeSchedule.onFailure)
    await loop.run(10)
    expect(loop.pending).toBe(0)
    const { fiber } = call([30])
    // the beat
    expect(loop.pending).toBe(1)
    await loop.run(100)
    expect(fiber.unsafePoll()).toMatchObject({ value: 0 })
    expect(loop.pending).toBe(0)
    await end(waiting.fiber)
  })

  it("the timer of a deadline is cleared when the call has ended before", async () => {
    loop = new FakeLoop()
    const { fiber } = call([30], { deadline: 1000 }, HedgeSchedule.onFailure)
    expect(loop.pending).toBe(1)
    await loop.run(30)
    expect(fiber.unsafePoll()).toMatchObject({ value: 0 })
    expect(loop.pending).toBe(0)
  })

  it("a delay shorter than the beat ends on time, also beside a longer one", async () => {
    loop = new FakeLoop()
    const long = call([undefined, 10])
    await loop.run(3)
    const short = call([undefined, 10], {}, HedgeSchedule.fixed(2))
    await loop.run(3)
    expect(short.launchedAt[1]).toBeGreaterThanOrEqual(2)
    expect(short.launchedAt[1]).toBeLessThanOrEqual(3)
    await loop.run(200)
    expect(long.launchedAt[1]).toBeCloseTo(80, -1)
    expect(long.launchedAt[1]).toBeGreaterThanOrEqual(80)
  })

  it("a beat that was lost with a fake clock is set anew", async () => {
    loop = new FakeLoop()
    const lost = call([1])
    await loop.run(2)
    expect(lost.fiber.unsafePoll()).toMatchObject({ value: 0 })
    expect(loop.pending).toBe(1)
    loop.restore()
    loop = new FakeLoop()
    loop.now = 5000
    const { launchedAt, fiber } = call([undefined, 10])
    await loop.run(200)
    expect(launchedAt[1]).toBeCloseTo(80, 0)
    expect(fiber.unsafePoll()).toMatchObject({ value: 1 })
  })

  it("a delay shorter than the beat ends on time, though no other is running", async () => {
    loop = new FakeLoop()
    const { launchedAt, fiber } = call([undefined, 10], {}, HedgeSchedule.fixed(2))
    expect(loop.pending).toBe(1)
    await loop.run(20)
    expect(launchedAt[1]).toBeCloseTo(2, 1)
    expect(fiber.unsafePoll()).toMatchObject({ value: 1 })
  })

  it("calls that follow one another at once share one beat, also if one's delay is as long as it", async () => {
    loop = new FakeLoop()
    for (const delay of [80, 80, 5]) {
      const { fiber } = call([0], {}, HedgeSchedule.fixed(delay))
      await loop.run(0)
      expect(fiber.unsafePoll()).toMatchObject({ value: 0 })
    }
    expect(loop.timersSet).toBe(1)
  })

  it("calls that wait together share one beat, which comes every 5 ms, also after the loop was stuck", async () => {
    loop = new FakeLoop()
    const calls = [call([undefined]), call([undefined])]
    await loop.run(1)
    calls.push(call([undefined]))
    loop.block(300)
    await loop.run(60)
    expect(loop.pending).toBe(1)
    expect(loop.timersSet).toBeLessThanOrEqual(1 + 60 / 5 + 1)
    for (const { fiber } of calls) await end(fiber)
  })

  it("that is stuck when another call starts, the hedge of the earlier waits all the same", async () => {
    loop = new FakeLoop()
    const earlier = call([undefined, undefined])
    loop.block(200)
    const later = call([10])
    await loop.run(400)
    expect(earlier.launchedAt[1]).toBeGreaterThanOrEqual(200 + 80 - 8 - 1)
    expect(later.fiber.unsafePoll()).toMatchObject({ value: 0 })
    await end(earlier.fiber)
  })

  it("a call that starts just after the last beat is hedged on time", async () => {
    loop = new FakeLoop()
    call([1])
    await loop.run(6)
    expect(loop.pending).toBe(0)
    const { launchedAt, fiber } = call([undefined, 10])
    await loop.run(200)
    expect(launchedAt[1]).toBeCloseTo(80, 0)
    expect(fiber.unsafePoll()).toMatchObject({ value: 1 })
  })

  it("a beat that was cleared while nobody watched is set anew", async () => {
    loop = new FakeLoop()
    call([1])
    await loop.run(2)
    loop.clearTimers()
    loop.block(1000)
    const { launchedAt, fiber } = call([undefined, 10])
    await loop.run(200)
    expect(launchedAt[1]).toBeCloseTo(80, 0)
    expect(fiber.unsafePoll()).toMatchObject({ value: 1 })
  })

  it("whose setTimeout is replaced while a call waits, one beat is left when the old one has rung", async () => {
    loop = new FakeLoop()
    const earlier = call([undefined, undefined])
    const { setTimeout } = globalThis
    vi.stubGlobal("setTimeout", (...args: Parameters<typeof setTimeout>) => setTimeout(...args))
    const later = call([undefined, undefined])
    await loop.run(20)
    expect(loop.pending).toBe(1)
    await loop.run(100)
    for (const { launchedAt, fiber } of [earlier, later]) {
      expect(launchedAt[1]).toBeCloseTo(80, 0)
      await end(fiber)
    }
  })

  it("which is replaced by another while a call waits, a beat is cleared only by the loop that has set it", async () => {
    loop = new FakeLoop()
    const earlier = call([undefined])
    const { now } = loop
    loop.restore()
    loop = new FakeLoop()
    loop.now = now
    const { launchedAt, fiber } = call([undefined, 10])
    await loop.run(200)
    expect(launchedAt[1]).toBeCloseTo(80, 0)
    expect(fiber.unsafePoll()).toMatchObject({ value: 1 })
    await end(earlier.fiber)
  })

  it("the process is kept alive while a stagger runs, and no longer", async () => {
    loop = new FakeLoop()
    const first = call([12])
    const second = call([22])
    for (const [millis, holding] of [
      [1, 1],
      // two beats later
      [10, 1],
      // the first has been answered
      [2, 1],
      // both have: the beat that is left holds nothing
      [10, 0]
    ] as const) {
      await loop.run(millis)
      expect([loop.pending, loop.holding]).toStrictEqual([1, holding])
    }
    expect(first.fiber.unsafePoll()).toMatchObject({ value: 0 })
    expect(second.fiber.unsafePoll()).toMatchObject({ value: 0 })
    const third = call([undefined])
    // the beat that was left holds the process again
    expect([loop.pending, loop.holding]).toStrictEqual([1, 1])
    await end(third.fiber)
    expect(loop.holding).toBe(0)
  })

  it("whose immediates were taken away, a call that waits for one does not keep the process alive", async () => {
    loop = new FakeLoop()
    vi.stubGlobal("setImmediate", () => {})
    const { launchedAt, fiber } = call([undefined])
    await loop.run(100)
    expect(launchedAt).toHaveLength(1)
    expect([loop.pending, loop.holding]).toStrictEqual([1, 0])
    await end(fiber)
  })

  it("C60: a delay of 2^31 ms sets no timer, which would ring at once, nor does such a deadline", async () => {
    loop = new FakeLoop()
    const { launchedAt, fiber } = call([undefined], { deadline: 2 ** 31 }, HedgeSchedule.fixed(2 ** 31))
    expect(loop.pending).toBe(0)
    await loop.run(100)
    expect(launchedAt).toHaveLength(1)
    expect(fiber.unsafePoll()).toBe(null)
    await end(fiber)
  })

  it("without setImmediate, hedges go out all the same, and input in the same turn goes first", async () => {
    loop = new FakeLoop({ immediate: false })
    expect(globalThis.setImmediate).toBe(undefined)
    const hedged = call([undefined, 30])
    await loop.run(200)
    expect(hedged.fiber.unsafePoll()).toMatchObject({ value: 1 })
    loop.lateness = () => 0.5
    const { launchedAt, fiber } = call([80.2])
    await loop.run(200)
    expect(fiber.unsafePoll()).toMatchObject({ value: 0 })
    expect(launchedAt).toHaveLength(1)
  })
})
