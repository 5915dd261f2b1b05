import { NodeHedgeClient } from "@effect-hedge/platform-node"
import { Effect, Layer } from "effect"
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
