import type { ClientHttp2Session } from "node:http2"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { type PingHost, type PingSettings, Pings } from "../src/internal/http2Pings.js"

type Answer = (error: Error | null, duration: number) => void

/** The PINGs of a connection whose other end is this test. */
const make = (settings: Partial<PingSettings> = {}) => {
  const session = {
    destroyed: false,
    state: { remoteWindowSize: 65_535 },
    sent: 0,
    answer: undefined as Answer | undefined,
    ping(answer: Answer) {
      this.sent++
      this.answer = answer
    }
  }
  const host = {
    inFlight: 1,
    confirmed: [] as Array<number>,
    dead: [] as Array<number>,
    onConfirmed: (resets: number) => host.confirmed.push(resets),
    onDead: (silentFor: number) => host.dead.push(silentFor)
  } satisfies PingHost & Record<string, unknown>
  const pings = new Pings(
    session as unknown as ClientHttp2Session,
    { pingInterval: 500, pingTimeout: 10_000, ...settings },
    host
  )
  const pass = (millis: number) => vi.advanceTimersByTime(millis)
  const answer = (duration = 1) => {
    const { answer } = session
    session.answer = undefined
    answer?.(null, duration)
  }
  return { session, host, pings, pass, answer }
}

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate", "performance"]
  })
})

afterEach(() => {
  vi.useRealTimers()
})

describe("the PINGs of a lane", () => {
  it("go out once in each interval while requests come and go", () => {
    const { session, pings, pass, answer } = make()
    for (let i = 0; i < 100; i++) {
      pings.onSent()
      pass(30)
      answer()
    }
    expect(session.sent).toBeGreaterThanOrEqual(5)
    expect(session.sent).toBeLessThanOrEqual(7)
  })

  it("are rare while requests wait and nothing comes", () => {
    const { session, pings, pass, answer } = make()
    pings.onSent()
    for (let i = 0; i < 600; i++) {
      pass(100)
      answer()
    }
    // one for the request, then one in each ten seconds of the minute
    expect(session.sent).toBeGreaterThanOrEqual(6)
    expect(session.sent).toBeLessThanOrEqual(7)
  })

  it("stop when nothing is in flight, and begin again with the next request, at once", () => {
    const { session, host, pings, pass, answer } = make()
    pings.onSent()
    pass(600)
    answer()
    host.inFlight = 0
    pass(60_000)
    const before = session.sent
    pass(60_000)
    expect(session.sent).toBe(before)
    host.inFlight = 1
    pings.onSent()
    expect(session.sent).toBe(before + 1)
  })

  it("none but for resets, if the interval is infinite", () => {
    const { session, host, pings, pass, answer } = make({ pingInterval: Infinity })
    pings.onSent()
    pass(60_000)
    expect(session.sent).toBe(0)
    pings.confirmReset()
    pings.confirmReset()
    pass(0)
    expect(session.sent).toBe(1)
    answer()
    expect(host.confirmed).toEqual([2])
  })

  it("one that is out confirms no later reset", () => {
    const { session, host, pings, pass, answer } = make({ pingInterval: Infinity })
    pings.confirmReset()
    pass(0)
    pings.confirmReset()
    pass(0)
    expect(session.sent).toBe(1)
    answer()
    expect(host.confirmed).toEqual([1])
    pass(0)
    expect(session.sent).toBe(2)
    answer()
    expect(host.confirmed).toEqual([1, 1])
  })
})

describe("the round trip", () => {
  it("is the first, then halfway to each that follows", () => {
    const { pings, pass, answer } = make()
    const roundTrip = (millis: number) => {
      pings.onSent()
      pass(1100)
      answer(millis)
    }
    roundTrip(8)
    expect(pings.roundTrip).toBe(8)
    roundTrip(16)
    expect(pings.roundTrip).toBe(12)
  })

  it("is no less than how long a PING is out", () => {
    const { pings, pass } = make()
    pings.onSent()
    pass(333)
    expect(pings.roundTrip).toBe(333)
  })

  it("is no less than how long the server has not opened the connection's window", () => {
    const { session, pings, pass, answer } = make()
    session.state.remoteWindowSize = 0
    pings.onSent()
    pass(500)
    answer(1)
    pass(800)
    answer(1)
    expect(pings.roundTrip).toBeGreaterThanOrEqual(700)
    session.state.remoteWindowSize = 1000
    pass(500)
    answer(1)
    expect(pings.roundTrip).toBe(1)
  })
})

describe("a connection is dead", () => {
  it("when nothing has come for the whole timeout, with a PING out", () => {
    const { host, pings, pass } = make()
    pings.onSent()
    pass(9900)
    expect(host.dead).toEqual([])
    pass(600)
    expect(host.dead).toHaveLength(1)
    expect(host.dead[0]).toBeGreaterThanOrEqual(10_000)
  })

  it("but not while anything comes, however long a PING takes", () => {
    const { host, pings, pass } = make()
    pings.onSent()
    for (let second = 0; second < 60; second++) {
      pass(1000)
      pings.onReceived()
    }
    expect(host.dead).toEqual([])
    pass(11_500)
    expect(host.dead).toHaveLength(1)
  })

  it("and is not found dead after it was stopped", () => {
    const { host, pings, pass } = make()
    pings.onSent()
    pings.stop()
    expect(vi.getTimerCount()).toBe(0)
    pass(60_000)
    expect(host.dead).toEqual([])
  })
})
