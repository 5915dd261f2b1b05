import { Effect } from "effect"
import * as ChildMain from "../childMain.js"
import type { ProxyConfig, ProxyReply, ProxyRequest } from "./protocol.js"
import * as Proxy from "./proxy.js"

ChildMain.run<ProxyConfig, ProxyRequest, ProxyReply>((config, reply) =>
  Effect.gen(function* () {
    const proxy = yield* Proxy.make(config)
    reply({ _tag: "Listening", port: proxy.port })
    return () => Effect.sync(() => reply({ _tag: "Connections", ...proxy.connections() }))
  })
)
