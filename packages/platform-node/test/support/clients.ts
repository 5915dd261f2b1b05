import { NodeHedgeClient } from "@effect-hedge/platform-node"
import { Effect, Layer } from "effect"
import { type InspectableTransport, untilZero } from "../../../platform/test/suite/transport.js"
import { certificate } from "../../../platform/test/support/certificate.js"
import type { Protocol } from "../../../platform/test/support/server.js"

/** A client that trusts the servers of these tests. */
export const lanes = (options: NodeHedgeClient.Options = {}) =>
  Layer.unwrapEffect(
    Effect.map(certificate, ({ cert }) => NodeHedgeClient.layer({ tls: { ca: cert }, ...options }))
  )

/** Every protocol that lanes speak. */
export const protocols = (["HTTP/1.1", "HTTP/1.1 over TLS", "HTTP/2"] satisfies Array<Protocol>).map(
  (protocol) => ({ protocol, layer: lanes() })
)

type LaneTransport = InspectableTransport<NodeHedgeClient.NodeHedgeClient>

/** Requests that wait, and slots that are taken. */
const inHand = Effect.flatMap(NodeHedgeClient.NodeHedgeClient, ({ report }) =>
  Effect.map(report, (upstreams) =>
    upstreams.reduce(
      (sum, { lanes, waiting }) => sum + waiting + lanes.reduce((sum, { inFlight }) => sum + inFlight, 0),
      0
    )
  )
)

const lanesOver = (protocol: Protocol): LaneTransport => ({
  name: `lanes, ${protocol}`,
  protocol,
  layer: lanes(),
  idle: untilZero(inHand)
})

export const lanesHttp2: LaneTransport = lanesOver("HTTP/2")

/** Lanes over every protocol that they speak. */
export const transports: ReadonlyArray<LaneTransport> = [
  lanesOver("HTTP/1.1"),
  lanesOver("HTTP/1.1 over TLS"),
  lanesHttp2
]
