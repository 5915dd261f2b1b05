/** Calls from one side, servers that break in every way on the other. */
import { Effect, Fiber, Logger, Schedule, type Scope } from "effect"
import { HedgeEvent, HedgeThrottle } from "effect-hedge"
import { generate } from "selfsigned"
import { budget, type Caller, callOnce, mostAttempts } from "./calls.js"
import { ChaosServer } from "./child.js"
import * as Clients from "./client.js"
import type { Disturbance, Mischief, protocols } from "./protocol.js"
import { Random } from "./random.js"
import { Watch } from "./watch.js"

export interface ChaosOptions {
  readonly seed: number
  readonly seconds: number
  /** How often everything is closed and looked for what has been left behind. */
  readonly rounds: number
  readonly client: "lanes" | "undici"
  /** Calls at a time, of each server. */
  readonly callers: number
  readonly mischiefs: ReadonlyArray<Mischief>
  readonly disturbances: ReadonlyArray<Disturbance>
  readonly protocols: ReadonlyArray<(typeof protocols)[number]>
  /** The program of the servers. */
  readonly server: URL
}

export interface Report {
  readonly seed: number
  readonly client: string
  readonly calls: number
  readonly hedges: number
  readonly lanesOpened: number
  /** What has happened, by kind. */
  readonly counts: Readonly<Record<string, number>>
  /** How late calls ended at most, after their deadline, and how late they may: as late as this process was at most, and a bit. Milliseconds. */
  readonly latestEnd: number
  readonly tolerance: number
  /** Of the heap, from the end of the first round to that of the last, in MB. */
  readonly heapGrowth: number
  readonly violations: number
  readonly examples: ReadonlyArray<string>
}

/** Milliseconds beyond the deadline in which a call ends, on top of the longest turn of the event loop. */
const patience = 1000
/** MB that a heap may grow from round to round: what the JIT and the runtime keep. */
const mostGrowth = 20

const certificate = Effect.promise(async () => {
  const { private: key, cert } = await generate([{ name: "commonName", value: "127.0.0.1" }], {
    keyType: "ec",
    extensions: [{ name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] }]
  })
  return { key, cert }
})

/** Disturbs a server again and again, one thing at a time. */
const disturb = (
  server: ChaosServer,
  random: Random,
  watch: Watch,
  kinds: ReadonlyArray<Disturbance>
): Effect.Effect<never> => {
  const once = Effect.gen(function* () {
    yield* Effect.sleep(random.between(50, 800))
    const disturbance = random.pick(kinds)
    watch.add(`disturbances: ${disturbance}`)
    if (disturbance === "kill") {
      yield* server.kill
      yield* Effect.sleep(random.between(0, 500))
      yield* server.start
    } else if (disturbance === "stop") {
      yield* server.stop
      yield* Effect.sleep(random.between(50, 1500))
      yield* server.proceed
    } else server.send({ _tag: "Disturb", disturbance, amount: random.between(1, 20) })
  })
  return Effect.forever(Effect.uninterruptible(once))
}

/** Until something is so; a violation if it takes longer than so many seconds. */
const eventually = (
  watch: Watch,
  seconds: number,
  isSo: Effect.Effect<boolean>,
  otherwise: Effect.Effect<string>
) =>
  isSo.pipe(
    Effect.repeat({ until: (so) => so, schedule: Schedule.spaced(20) }),
    Effect.timeout(seconds * 1000),
    Effect.catchAll(() => Effect.map(otherwise, (what) => watch.violated(what)))
  )

const collectGarbage = Effect.async<void>((resume) => {
  globalThis.gc?.()
  setImmediate(() => resume(Effect.void))
})

/** What keeps this process alive, by kind. */
const resources = (): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const name of process.getActiveResourcesInfo()) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

const round = (
  options: ChaosOptions,
  watch: Watch,
  random: Random,
  seconds: number,
  firstCall: number,
  server: (protocol: (typeof protocols)[number]) => Effect.Effect<ChaosServer, never, Scope.Scope>,
  ca: string
): Effect.Effect<number> =>
  Effect.gen(function* () {
    const servers = yield* Effect.forEach(options.protocols, server, { concurrency: "unbounded" })
    let call = firstCall
    yield* Effect.scoped(
      Effect.gen(function* () {
        const tried = yield* options.client === "lanes"
          ? Clients.lanes(ca, watch.laneListener)
          : Clients.undici(ca)
        const caller: Caller = {
          client: tried.client,
          throttle: HedgeThrottle.loadBudget(budget),
          watch,
          mischiefs: options.mischiefs
        }
        const hedgesBefore = watch.hedges
        let over = false
        const callers = servers.flatMap((server) =>
          Array.from({ length: options.callers }, () => {
            const own = new Random(random.between(0, 2 ** 31))
            return Effect.whileLoop({
              while: () => !over,
              body: () =>
                Effect.andThen(callOnce(caller, own, call++, server.url), Effect.sleep(own.between(0, 20))),
              step: () => {}
            })
          })
        )
        const disturbers: Array<Fiber.Fiber<unknown>> = []
        for (const server of servers) {
          if (options.disturbances.length === 0) break
          disturbers.push(
            yield* Effect.fork(
              disturb(server, new Random(random.between(0, 2 ** 31)), watch, options.disturbances)
            )
          )
        }
        yield* Effect.fork(
          Effect.andThen(
            Effect.sleep(seconds * 1000),
            Effect.sync(() => {
              over = true
            })
          )
        )
        yield* Effect.all(callers, { concurrency: "unbounded", discard: true })
        yield* Fiber.interruptAll(disturbers)
        const calls = call - firstCall
        const hedges = watch.hedges - hedgesBefore
        if (hedges > budget.burst + budget.extraLoad * calls)
          watch.violated(`${hedges} hedges of ${calls} calls`)
        // a response that nobody has read holds its slot until it is collected
        yield* eventually(
          watch,
          20,
          Effect.zipRight(
            collectGarbage,
            Effect.map(tried.inHand, (n) => n === 0)
          ),
          Effect.map(
            tried.describe,
            (held) => `requests are in hand long after all calls have ended: ${held}`
          )
        )
      })
    )
    watch.checkEnded()
    const sockets = Effect.sync(() =>
      Object.entries(resources()).filter(([kind]) => /TCP|TLS|HTTP|GetAddr/i.test(kind))
    )
    yield* eventually(
      watch,
      10,
      Effect.map(sockets, (held) => held.length === 0),
      Effect.map(sockets, (held) => `connections that nobody has any more: ${JSON.stringify(held)}`)
    )
    // no violation by itself: a server may hear late that a connection has ended
    for (const server of servers) {
      const { sockets } = yield* server.count
      for (let i = 0; i < sockets.length; i++) watch.add(`sockets that servers still had: ${server.protocol}`)
    }
    return call
  }).pipe(
    Effect.scoped,
    Effect.provide(HedgeEvent.layer(watch.hedgeListener)),
    Effect.provide(Logger.replace(Logger.defaultLogger, watch.logger))
  )

/** Runs it and says what was found. */
export const chaos = (options: ChaosOptions): Effect.Effect<Report> =>
  Effect.gen(function* () {
    const { rounds, seconds, seed } = options
    const watch = new Watch(mostAttempts)
    yield* watch.process
    const random = new Random(seed)
    const tls = yield* certificate
    const server = (protocol: (typeof protocols)[number]) =>
      ChaosServer.make(options.server, { protocol, ...tls }, watch.onTold)
    yield* collectGarbage
    const before = resources()
    let calls = 0
    const heaps: Array<number> = []
    for (let i = 0; i < rounds; i++) {
      calls = yield* round(options, watch, random, seconds / rounds, calls, server, tls.cert)
      for (let i = 0; i < 5; i++) yield* collectGarbage
      heaps.push(process.memoryUsage().heapUsed / 2 ** 20)
    }
    const isClean = Effect.sync(() =>
      Object.entries(resources()).every(([kind, n]) => kind === "Timeout" || n <= (before[kind] ?? 0))
    )
    yield* eventually(
      watch,
      5,
      isClean,
      Effect.sync(() => `left behind: ${JSON.stringify(resources())}, before: ${JSON.stringify(before)}`)
    )
    const heapGrowth = heaps[heaps.length - 1]! - heaps[0]!
    if (heapGrowth > mostGrowth) watch.violated(`the heap has grown by ${heapGrowth.toFixed(1)} MB`)
    const tolerance = patience + watch.latestTurn
    if (watch.latestEnd > tolerance) {
      watch.violated(
        `a call ended ${watch.latestEnd.toFixed(0)} ms after its deadline, ${tolerance.toFixed(0)} are tolerated`
      )
    }
    return {
      seed,
      client: options.client,
      calls,
      hedges: watch.hedges,
      lanesOpened: watch.lanesOpened,
      counts: Object.fromEntries(Array.from(watch.counts).sort(([a], [b]) => (a < b ? -1 : 1))),
      latestEnd: watch.latestEnd,
      tolerance,
      heapGrowth,
      violations: watch.violations,
      examples: watch.kept
    }
  }).pipe(Effect.scoped)
