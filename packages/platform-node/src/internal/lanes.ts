import type { HttpClientRequest } from "@effect/platform"
import { Effect } from "effect"
import type { Options, UpstreamReport } from "../NodeHedgeClient.js"
import { LaneGroup } from "./group.js"
import type { Reporter } from "./reporter.js"
import { forLongStreams, type ResolvedUpstream, resolve } from "./upstream.js"

/** The groups of one upstream. */
interface Groups {
  readonly upstream: ResolvedUpstream
  readonly short: LaneGroup
  long: LaneGroup | undefined
}

/** Upstreams that are remembered: those without lanes are forgotten when there are more. */
const mostUpstreams = 256

const closed = new Error("the client has been closed")

/** All lanes of a client, by upstream. */
export class Lanes {
  private readonly upstreams = new Map<string, Groups>()
  private isClosed = false

  constructor(
    private readonly options: Options,
    private readonly reporter: Reporter | undefined
  ) {}

  groupOf(origin: string, long: boolean): LaneGroup {
    const groups = this.upstreams.get(origin) ?? this.add(origin)
    if (!long) return groups.short
    groups.long ??= this.make(forLongStreams(groups.upstream, this.options), true)
    return groups.long
  }

  private make(upstream: ResolvedUpstream, long: boolean): LaneGroup {
    const group = new LaneGroup(upstream, long, this.reporter)
    if (this.isClosed) group.close(closed, () => {})
    return group
  }

  private add(origin: string): Groups {
    if (this.upstreams.size >= mostUpstreams) this.forget()
    const upstream = resolve(origin, this.options)
    const groups = { upstream, short: this.make(upstream, false), long: undefined }
    this.upstreams.set(origin, groups)
    return groups
  }

  private forget(): void {
    for (const [origin, { long, short }] of this.upstreams) {
      if (short.isUnused && (long === undefined || long.isUnused)) this.upstreams.delete(origin)
    }
  }

  private get groups(): Array<LaneGroup> {
    return Array.from(this.upstreams.values()).flatMap(({ long, short }) =>
      long === undefined ? [short] : [short, long]
    )
  }

  report(): ReadonlyArray<UpstreamReport> {
    return this.groups.map((group) => group.report())
  }

  /** What waits fails, what is under way has so many milliseconds to end, then it fails, too. Ends when no connection is left. */
  close(grace: number): Effect.Effect<void> {
    return Effect.async<void>((resume) => {
      const { groups } = this
      this.isClosed = true
      const timer = setTimeout(() => {
        for (const group of groups) group.destroy(closed)
      }, grace)
      let left = groups.length + 1
      const onEmpty = (): void => {
        left--
        if (left > 0) return
        clearTimeout(timer)
        resume(Effect.void)
      }
      for (const group of groups) group.close(closed, onEmpty)
      onEmpty()
    })
  }
}

/** Whether a request says by itself that its answer is a stream that lasts. */
export const asksForStream = (request: HttpClientRequest.HttpClientRequest): boolean =>
  request.headers.accept?.includes("text/event-stream") === true
