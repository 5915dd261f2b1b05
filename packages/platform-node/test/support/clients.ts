import { NodeHedgeClient } from "@effect-hedge/platform-node"
import { Effect, Layer } from "effect"
import { type InspectableTransport, turn } from "../../../platform/test/suite/transport.js"
import { certificate } from "../../../platform/test/support/certificate.js"
import type { Protocol } from "../../../platform/test/support/server.js"

export { turn }

/** A client that trusts the servers of these tests. */
export const lanes = (options: NodeHedgeClient.Options = {}) =>
  Layer.unwrapEffect(
    Effect.map(certificate, ({ cert }) =>
      NodeHedgeClient.layer({ ...options, tls: { ca: cert, ...options.tls } })
    )
  )

/** Every protocol that lanes speak. */
export const protocols = (["HTTP/1.1", "HTTP/1.1 over TLS", "HTTP/2"] satisfies Array<Protocol>).map(
  (protocol) => ({ protocol, layer: lanes() })
)

/** Waits, without a clock, until something is true of the lanes. */
export const until = (
  predicate: (upstreams: ReadonlyArray<NodeHedgeClient.UpstreamReport>) => boolean
): Effect.Effect<void, never, NodeHedgeClient.NodeHedgeClient> =>
  Effect.flatMap(NodeHedgeClient.NodeHedgeClient, ({ report }) =>
    Effect.zipRight(turn, report).pipe(Effect.repeat({ until: predicate }), Effect.asVoid)
  )

/** Waits until nothing waits for a lane and no lane has a request. */
export const idle = until((upstreams) =>
  upstreams.every(({ lanes, waiting }) => waiting === 0 && lanes.every(({ inFlight }) => inFlight === 0))
)

type LaneTransport = InspectableTransport<NodeHedgeClient.NodeHedgeClient>

const lanesOver = (protocol: Protocol): LaneTransport => ({
  name: `lanes, ${protocol}`,
  protocol,
  layer: lanes(),
  idle
})

export const lanesHttp2: LaneTransport = lanesOver("HTTP/2")

/** Lanes over every protocol that they speak. */
export const transports: ReadonlyArray<LaneTransport> = [
  lanesOver("HTTP/1.1"),
  lanesOver("HTTP/1.1 over TLS"),
  lanesHttp2
]
