import { Effect } from "effect"
import * as ChildMain from "../childMain.js"
import * as Client from "./client.js"
import type { ClientConfig, ClientReply, ClientRequest } from "./protocol.js"

ChildMain.run<ClientConfig, ClientRequest, ClientReply>((config, reply) =>
  Effect.gen(function* () {
    const client = yield* Client.make(config)
    reply({ _tag: "Ready" })
    return () =>
      Effect.map(
        client.probe((started) => reply({ _tag: "Progress", started })),
        (report) => reply({ _tag: "Measured", report })
      )
  })
)
