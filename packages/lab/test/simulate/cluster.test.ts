import { describe, expect, it } from "vitest"
import { Agenda } from "../../src/simulate/agenda.js"
import { Cluster, type Job } from "../../src/simulate/cluster.js"
import type { Cluster as Settings } from "../../src/simulate/settings.js"
import { streams } from "../../src/simulate/simulation.js"

const made = (settings: Partial<Settings>) => {
  const agenda = new Agenda()
  const cluster = new Cluster(
    { servers: 2, balancer: "round-robin", cancellation: "all", slowdown: undefined, ...settings },
    agenda,
    streams(1).balancer
  )
  const ended: Array<readonly [string, number]> = []
  const send = (name: string, work: number, tried: ReadonlyArray<Job> = [], idleOnly = false) =>
    cluster.send(work, tried, idleOnly, () => ended.push([name, agenda.now]))
  return { agenda, cluster, ended, send }
}

describe("an agenda", () => {
  it("does things in the order of their times, and of one time in the order in which they came", () => {
    const agenda = new Agenda()
    const done: Array<string> = []
    const random = streams(2).arrivals
    const times = Array.from({ length: 500 }, () => Math.floor(random() * 50))
    times.forEach((time, i) => agenda.at(time, () => done.push(`${time} ${i}`)))
    agenda.run()
    const expected = times.map((time, i) => ({ time, i })).sort((a, b) => a.time - b.time || a.i - b.i)
    expect(done).toEqual(expected.map(({ i, time }) => `${time} ${i}`))
  })

  it("does what is added meanwhile", () => {
    const agenda = new Agenda()
    const done: Array<number> = []
    agenda.at(5, () => agenda.after(10, () => done.push(agenda.now)))
    agenda.at(7, () => done.push(agenda.now))
    agenda.run()
    expect(done).toEqual([7, 15])
  })
})

describe("a server", () => {
  it("works on one request after another, first come, first served", () => {
    const { agenda, ended, send } = made({ servers: 1 })
    send("a", 10)
    send("b", 5)
    send("c", 1)
    agenda.run()
    expect(ended).toEqual([
      ["a", 10],
      ["b", 15],
      ["c", 16]
    ])
  })

  it.each([
    ["all", 4],
    ["queued", 10],
    ["none", 15]
  ] as const)("when cancelling stops %s: the next begins at %i", (cancellation, begins) => {
    const { agenda, cluster, ended, send } = made({ servers: 1, cancellation })
    const running = send("running", 10)
    const queued = send("queued", 5)
    send("next", 1)
    agenda.at(4, () => {
      for (const job of [running, queued]) cluster.cancel(job)
      // nobody waits for anything but the last
      expect(cluster.leastInFlight([])).toBe(1)
    })
    agenda.run()
    expect(ended).toEqual([["next", begins + 1]])
  })

  it("that is slow for a while takes longer over what it begins then", () => {
    const { agenda, ended, send } = made({ slowdown: { factor: 3, servers: 1, from: 5, to: 20 } })
    send("before", 6)
    send("elsewhere", 6)
    agenda.at(7, () => {
      send("slow", 4)
      send("not slow", 4)
    })
    agenda.at(20, () => send("after", 4))
    agenda.run()
    expect(ended).toEqual([
      ["before", 6],
      ["elsewhere", 6],
      ["not slow", 11],
      ["slow", 19],
      ["after", 24]
    ])
  })
})

describe("a balancer", () => {
  it("does not send a second copy to where the first is, as long as there is another server", () => {
    for (const balancer of ["p2c", "random", "round-robin"] as const) {
      const { cluster, send } = made({ balancer })
      for (let i = 0; i < 50; i++) {
        const first = send("first", 1)
        const second = send("second", 1, [first])
        expect(second.server).not.toBe(first.server)
        expect(cluster.leastInFlight([first, second])).toBe(undefined)
      }
    }
  })

  it("p2c picks the one with less in flight of two", () => {
    const { cluster, send } = made({ balancer: "p2c" })
    send("one", 1)
    send("other", 1)
    expect(cluster.leastInFlight([])).toBe(1)
    send("one more", 1)
    send("one more", 1)
    expect(cluster.leastInFlight([])).toBe(2)
  })

  it("picks an idle server where only those will do", () => {
    for (let i = 0; i < 20; i++) {
      const { send } = made({ servers: 4, balancer: "random" })
      const jobs = [send("a", 1), send("b", 1, []), send("c", 1, [])]
      const busy = new Set(jobs.map((job) => job.server))
      const hedge = send("hedge", 1, [jobs[0]!], true)
      expect(busy.has(hedge.server)).toBe(false)
    }
  })

  it("has a server for each request where they are unlimited", () => {
    const { agenda, cluster, ended, send } = made({ servers: Infinity })
    for (const name of ["a", "b", "c"]) send(name, 5)
    expect(cluster.leastInFlight([])).toBe(0)
    agenda.run()
    expect(ended.map(([, at]) => at)).toEqual([5, 5, 5])
  })
})
