import type { Agenda } from "./agenda.js"
import type { Balancer, Cluster as Settings } from "./settings.js"
import type { Random } from "./workload.js"

/** A request on its way through a server. */
export interface Job {
  readonly server: Server
  readonly work: number
  readonly done: () => void
  /** `Abandoned`: the client has gone away, and the server goes on. */
  state: "Queued" | "Running" | "Abandoned" | "Ended"
}

class Server {
  /** What clients wait for here. */
  inFlight = 0
  readonly queue: Array<Job> = []
  isBusy = false

  constructor(readonly index: number) {}
}

/** Servers that work on one request after another, first come, first served, and who picks among them. */
export class Cluster {
  private readonly servers: ReadonlyArray<Server>
  private next = 0

  constructor(
    private readonly settings: Settings,
    private readonly agenda: Agenda,
    private readonly random: Random
  ) {
    const count = settings.servers === Infinity ? 0 : settings.servers
    this.servers = Array.from({ length: count }, (_, index) => new Server(index))
  }

  /** Of the servers that a call has not tried, the least number of requests in flight at one; undefined if it has tried them all. */
  leastInFlight(tried: ReadonlyArray<Job>): number | undefined {
    if (this.settings.servers === Infinity) return 0
    let least: number | undefined
    for (const server of this.servers) {
      if (isTried(server, tried)) continue
      if (least === undefined || server.inFlight < least) least = server.inFlight
    }
    return least
  }

  /** Sends a request to a server that the balancer picks of those that the call has not tried, or of those with nothing in flight. */
  send(work: number, tried: ReadonlyArray<Job>, idleOnly: boolean, done: () => void): Job {
    const server = this.settings.servers === Infinity ? new Server(0) : this.pick(tried, idleOnly)
    const job: Job = { server, work, done, state: "Queued" }
    server.inFlight += 1
    if (server.isBusy) server.queue.push(job)
    else this.begin(job)
    return job
  }

  /** The client has gone away. */
  cancel(job: Job): void {
    if (job.state !== "Queued" && job.state !== "Running") return
    const { server, state } = job
    const { cancellation } = this.settings
    const isStopped = cancellation === "all" || (cancellation === "queued" && state === "Queued")
    job.state = isStopped ? "Ended" : "Abandoned"
    server.inFlight -= 1
    // what waits in the queue and has ended is left out when its turn comes
    if (isStopped && state === "Running") this.free(server)
  }

  private begin(job: Job): void {
    const { server } = job
    server.isBusy = true
    if (job.state === "Queued") job.state = "Running"
    this.agenda.after(job.work * this.slowness(server), () => this.finish(job))
  }

  private finish(job: Job): void {
    const { server, state } = job
    if (state === "Ended") return
    job.state = "Ended"
    this.free(server)
    if (state === "Abandoned") return
    server.inFlight -= 1
    job.done()
  }

  private free(server: Server): void {
    server.isBusy = false
    let next = server.queue.shift()
    while (next?.state === "Ended") next = server.queue.shift()
    if (next !== undefined) this.begin(next)
  }

  private slowness(server: Server): number {
    const { slowdown } = this.settings
    const { now } = this.agenda
    const isSlow =
      slowdown !== undefined && server.index < slowdown.servers && now >= slowdown.from && now < slowdown.to
    return isSlow ? slowdown.factor : 1
  }

  private pick(tried: ReadonlyArray<Job>, idleOnly: boolean): Server {
    const untried =
      tried.length === 0 ? this.servers : this.servers.filter((server) => !isTried(server, tried))
    const idle = idleOnly ? untried.filter(({ inFlight }) => inFlight === 0) : untried
    const able = idle.length > 0 ? idle : untried.length > 0 ? untried : this.servers
    return this.balancers[this.settings.balancer](able)
  }

  private readonly balancers: Readonly<Record<Balancer, (able: ReadonlyArray<Server>) => Server>> = {
    random: (able) => this.any(able),
    "round-robin": (able) => {
      for (;;) {
        const server = this.servers[this.next++ % this.servers.length]!
        if (able.includes(server)) return server
      }
    },
    p2c: (able) => {
      if (able.length === 1) return able[0]!
      const one = this.any(able)
      const rest = Math.floor(this.random() * (able.length - 1))
      const other = able[rest < able.indexOf(one) ? rest : rest + 1]!
      return other.inFlight < one.inFlight ? other : one
    }
  }

  private any(able: ReadonlyArray<Server>): Server {
    return able[Math.floor(this.random() * able.length)]!
  }
}

const isTried = (server: Server, tried: ReadonlyArray<Job>): boolean =>
  tried.some((job) => job.server === server)
