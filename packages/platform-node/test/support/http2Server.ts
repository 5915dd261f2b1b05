import * as Http2 from "node:http2"
import type { AddressInfo } from "node:net"
import { generate } from "selfsigned"
import type { Http2Settings } from "../../src/internal/http2Lane.js"
import { type OpenedLane, openLane } from "./lane.js"

export type Handler = (stream: Http2.ServerHttp2Stream, headers: Http2.IncomingHttpHeaders) => void

export interface Options {
  readonly settings?: Partial<Http2Settings>
  readonly server?: Http2.ServerOptions
  readonly tls?: boolean
}

const create = async ({
  server = {},
  tls = false
}: Options): Promise<Http2.Http2Server | Http2.Http2SecureServer> => {
  if (!tls) return Http2.createServer(server)
  const { private: key, cert } = await generate([{ name: "commonName", value: "127.0.0.1" }], {
    keyType: "ec"
  })
  return Http2.createSecureServer({ ...server, key, cert })
}

/** Node's own server, a lane to it, and how to end both. */
export const laneTo = async (
  handler: Handler,
  options: Options = {}
): Promise<OpenedLane & { readonly end: () => Promise<void> }> => {
  const http = await create(options)
  const sessions = new Set<Http2.ServerHttp2Session>()
  http.on("stream", (stream: Http2.ServerHttp2Stream, headers: Http2.IncomingHttpHeaders) => {
    stream.on("error", () => {})
    handler(stream, headers)
  })
  http.on("session", (session: Http2.ServerHttp2Session) => {
    session.on("error", () => {})
    session.on("close", () => sessions.delete(session))
    sessions.add(session)
  })
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
  const opened = await openLane((http.address() as AddressInfo).port, options.settings, options.tls)
  const end = async () => {
    opened.lane.destroy(new Error("the test is over"))
    await opened.owner.closed
    for (const session of sessions) session.destroy()
    await new Promise((resolve) => http.close(resolve))
  }
  return { ...opened, end }
}
