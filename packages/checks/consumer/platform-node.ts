/** What a user of `@effect-hedge/platform-node` writes: the hedge goes down another connection than what is late. */
import { deepStrictEqual, strictEqual } from "node:assert"
import { createServer } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { HttpClient } from "@effect/platform"
import { HttpHedge } from "@effect-hedge/platform"
import { NodeHedgeClient } from "@effect-hedge/platform-node"
import type { Options } from "@effect-hedge/platform-node/NodeHedgeClient"
import { Effect, Layer } from "effect"
import { HedgePolicy, HedgeSchedule } from "effect-hedge"

const connections: Array<Socket> = []
const server = createServer((request, response) => {
  connections.push(request.socket)
  if (connections.length === 2) response.end("answer 2")
})
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/price`

const options: Options = { protocol: "http/1.1", lanes: 2 }
const Hedged = HttpHedge.layer.pipe(
  Layer.provide(HedgePolicy.layer({ schedule: HedgeSchedule.fixed("5 millis") })),
  Layer.provideMerge(NodeHedgeClient.layer(options))
)

const price = Effect.gen(function* () {
  const response = yield* HttpClient.get(url)
  const text = yield* response.text
  const { report } = yield* NodeHedgeClient.NodeHedgeClient
  return { text, upstreams: yield* report }
})
const { text, upstreams } = await Effect.runPromise(Effect.provide(price, Hedged))
strictEqual(text, "answer 2")
deepStrictEqual(
  upstreams.map(({ origin }) => origin),
  [new URL(url).origin]
)
strictEqual(new Set(connections).size, 2)

server.close()
server.closeAllConnections()
