/**
 * A TCP proxy that lets only so many bytes through in a second, for each connection and each way. What comes faster waits in a buffer as large as a
 * router's, then in the system's socket buffers, and then at its sender: as on a slow or lossy path, what was sent first is in the way of
 * what is sent next on the same connection, and of no other.
 */
import * as Net from "node:net"
import { Effect, type Scope } from "effect"
import { now } from "../clock.js"
import { listen } from "../listen.js"
import type { ProxyConfig } from "./protocol.js"

export interface Proxy {
  readonly port: number
  /** Connections that clients have opened, and those that are open now. */
  readonly connections: () => { readonly opened: number; readonly open: number }
}

export const make = ({ bandwidth, to }: ProxyConfig): Effect.Effect<Proxy, never, Scope.Scope> =>
  Effect.gen(function* () {
    const open = new Set<Net.Socket>()
    let opened = 0
    const server = Net.createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      opened++
      open.add(client)
      client.on("close", () => open.delete(client))
      const upstream = Net.connect({ port: to, host: "127.0.0.1", allowHalfOpen: true, noDelay: true })
      connect(client, upstream, bandwidth.up)
      connect(upstream, client, bandwidth.down)
    })
    const port = yield* listen(server, () => {
      for (const client of open) client.destroy()
    })
    return { port, connections: () => ({ opened, open: open.size }) }
  })

/** What waits here for its turn; as much again and more may wait in the socket buffers before it. */
const bufferBytes = 64 * 1_024

/** An idle connection lets this much time's worth through at once: a small answer is not held up by the clock of timers. */
const burstMs = 10
const tickMs = 4

/** Passes on what one side sends, one way. */
const connect = (from: Net.Socket, to: Net.Socket, bytesPerSecond: number): void => {
  const bytesPerMs = bytesPerSecond / 1_000
  const waiting: Array<Buffer> = []
  let waitingBytes = 0
  let allowance = bytesPerMs * burstMs
  let earnedAt = now()
  let isTicking = false
  let ended = false
  let timer: NodeJS.Timeout | undefined

  const earn = () => {
    const at = now()
    allowance += (at - earnedAt) * bytesPerMs
    earnedAt = at
    // a late timer is made up for, an idle time is not saved up
    if (waitingBytes === 0) allowance = Math.min(allowance, bytesPerMs * burstMs)
  }

  const take = (most: number): Buffer => {
    const first = waiting[0]!
    const piece = first.subarray(0, most)
    if (piece.length === first.length) waiting.shift()
    else waiting[0] = first.subarray(most)
    waitingBytes -= piece.length
    return piece
  }

  const tick = () => {
    isTicking = false
    earn()
    pass()
  }

  const pass = () => {
    while (waitingBytes > 0 && allowance >= 1 && !to.writableNeedDrain) {
      const piece = take(Math.floor(allowance))
      allowance -= piece.length
      to.write(piece)
    }
    if (waitingBytes < bufferBytes) from.resume()
    if (waitingBytes > 0) tickLater()
    else if (ended) to.end()
  }

  const tickLater = () => {
    isTicking = true
    if (to.writableNeedDrain) to.once("drain", tick)
    else timer = setTimeout(tick, tickMs)
  }

  from.on("data", (chunk) => {
    earn()
    waiting.push(chunk)
    waitingBytes += chunk.length
    if (waitingBytes >= bufferBytes) from.pause()
    if (!isTicking) pass()
  })
  from.on("end", () => {
    ended = true
    if (waitingBytes === 0) to.end()
  })
  // a connection that breaks on one side breaks on the other
  from.on("error", () => {})
  from.on("close", () => {
    if (!ended) to.destroy()
  })
  to.on("close", () => {
    clearTimeout(timer)
    if (!ended) from.destroy()
  })
}
