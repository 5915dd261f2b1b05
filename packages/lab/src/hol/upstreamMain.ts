import { Effect } from "effect"
import * as ChildMain from "../childMain.js"
import type { UpstreamReply, UpstreamRequest } from "./protocol.js"
import * as Upstream from "./upstream.js"

ChildMain.run<null, UpstreamRequest, UpstreamReply>((_, reply) =>
  Effect.gen(function* () {
    const { arrivals, certificate, port } = yield* Upstream.make
    reply({ _tag: "Listening", port, certificate })
    return () => Effect.sync(() => reply({ _tag: "Arrived", arrivals: arrivals() }))
  })
)
