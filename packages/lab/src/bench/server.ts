import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

/** Answers every request at once with a small body; ends with its parent. */
const server = createServer((_, response) => response.end("ok"))
server.keepAliveTimeout = 60_000
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port))
process.on("disconnect", () => process.exit())
