import { Effect } from "effect"
import * as ChildMain from "../childMain.js"
import type { ServerConfig, ServerReply, ServerRequest } from "./protocol.js"
import * as Server from "./server.js"

ChildMain.run<ServerConfig, ServerRequest, ServerReply>((config, reply) =>
  Effect.gen(function* () {
    const server = yield* Server.make(config)
    reply({ _tag: "Listening", port: server.port })
    return (request) =>
      request._tag === "Reset"
        ? Effect.sync(() => {
            server.reset()
            reply({ _tag: "WasReset" })
          })
        : Effect.map(server.report, (report) => reply({ _tag: "Counted", report }))
  })
)
