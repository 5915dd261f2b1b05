import { Effect } from "effect"
import * as ChildMain from "../childMain.js"
import * as Client from "./client.js"
import type { ClientConfig, ClientReply, ClientRequest } from "./protocol.js"

/** Progress is reported once in this share of the calls, so that it costs the client nothing that matters. */
const progressShare = 1 / 50

ChildMain.run<ClientConfig, ClientRequest, ClientReply>((config, reply) =>
  Effect.gen(function* () {
    const client = yield* Client.make(config)
    reply({ _tag: "Ready" })
    return ({ load }) => {
      const step = Math.ceil(load.calls * progressShare)
      const onEnded = (ended: number) => {
        if (ended % step === 0) reply({ _tag: "Progress", ended })
      }
      return Effect.map(client.run(load, onEnded), (report) => reply({ _tag: "Measured", report }))
    }
  })
)
