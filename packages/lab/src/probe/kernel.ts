/** The system's view of a connection, where `ss` tells it. */
import { execFile } from "node:child_process"
import type { Socket } from "node:net"
import { Effect } from "effect"
import type { Kernel } from "./findings.js"

const patienceMs = 2_000

export const look = (
  socket: Socket,
  platform: NodeJS.Platform = process.platform,
  command = "ss"
): Effect.Effect<Kernel | { readonly unavailable: string }> => {
  if (platform !== "linux") return Effect.succeed({ unavailable: `${platform} has no ss` })
  const ends = ["sport", "=", `:${socket.localPort}`, "and", "dport", "=", `:${socket.remotePort}`]
  return Effect.async((resume) => {
    const child = execFile(command, ["-tinH", ...ends], { timeout: patienceMs }, (error, stdout) => {
      if (error !== null) return resume(Effect.succeed({ unavailable: problemOf(command, error) }))
      resume(Effect.succeed(parse(stdout) ?? { unavailable: "ss does not know the connection any more" }))
    })
    return Effect.sync(() => child.kill())
  })
}

const problemOf = (command: string, error: { readonly code?: unknown; readonly message: string }): string =>
  error.code === "ENOENT" ? `${command} is not installed` : `${command} failed: ${error.message.trim()}`

/** The first connection that `ss -tinH` prints: its queues, and then what is named. */
export const parse = (printed: string): Kernel | undefined => {
  const [, state, receiveQueue, sendQueue] = /^(\S+)\s+(\d+)\s+(\d+)\s/.exec(printed) ?? []
  if (state === undefined) return undefined
  const named = (name: string, value = String.raw`([\d.]+)`): number | null => {
    const [, found] = new RegExp(String.raw`\s${name}:${value}`).exec(printed) ?? []
    return found === undefined ? null : Number(found)
  }
  return {
    state,
    sendQueue: Number(sendQueue),
    receiveQueue: Number(receiveQueue),
    notSent: named("notsent"),
    // now / ever; it is not printed if there were none
    retransmits: named("retrans", String.raw`\d+/(\d+)`) ?? 0,
    congestionWindow: named("cwnd"),
    // mean / deviation
    rttMs: named("rtt"),
    minRttMs: named("minrtt"),
    retransmitTimeoutMs: named("rto")
  }
}
