import { execFile } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { createSecureServer } from "node:http2"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { generate } from "selfsigned"
import { describe, expect, it } from "vitest"

const bin = fileURLToPath(new URL("../../dist/bin.js", import.meta.url))

const probe = (args: ReadonlyArray<string>, env: NodeJS.ProcessEnv = {}) =>
  new Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>(
    (resolve) => {
      const options = { env: { ...process.env, ...env } }
      const child = execFile(process.execPath, [bin, "probe", ...args], options, (_, stdout, stderr) =>
        resolve({ code: child.exitCode, stdout, stderr })
      )
    }
  )

describe("hedge-lab probe", { timeout: 60_000 }, () => {
  it("prints JSON and nothing else, and shows no credentials", async () => {
    const server = createServer((_, response) => response.end("hello")).listen(0, "127.0.0.1")
    await once(server, "listening")
    const { port } = server.address() as AddressInfo
    const { code, stderr, stdout } = await probe([`http://user:secret@127.0.0.1:${port}/`, "--json"])
    server.close()
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).not.toMatch(/secret/)
    const finding = JSON.parse(stdout)
    expect(Object.keys(finding)).toEqual(["url", "dnsMs", "addresses", "failure"])
    expect(Object.keys(finding.addresses[0])).toEqual([
      "address",
      "tcpMs",
      "tlsMs",
      "firstByteMs",
      "bodyMs",
      "protocol",
      "tls",
      "answer",
      "settings",
      "pings",
      "second",
      "kernel",
      "failure"
    ])
  })

  it("believes a certificate that the system trusts, and prints a table", async () => {
    const { cert, private: key } = await generate([{ name: "commonName", value: "localhost" }], {
      keyType: "ec",
      algorithm: "sha256",
      extensions: [{ name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] }]
    })
    const folder = mkdtempSync(join(tmpdir(), "hedge-lab-"))
    const trusted = join(folder, "certificate.pem")
    writeFileSync(trusted, cert)
    const server = createSecureServer({ key, cert }, (_, response) => response.end("hello"))
    await once(server.listen(0, "127.0.0.1"), "listening")
    const { port } = server.address() as AddressInfo
    const { code, stderr, stdout } = await probe([`https://127.0.0.1:${port}/`], {
      NODE_EXTRA_CA_CERTS: trusted
    })
    server.close()
    rmSync(folder, { recursive: true })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toMatch(/^protocol +h2$/m)
    expect(stdout).toMatch(/^second request +same connection$/m)
  })

  it("fails if no address answers, and says why", async () => {
    const server = createServer().listen(0, "127.0.0.1")
    await once(server, "listening")
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, "close")
    expect(await probe([`http://127.0.0.1:${port}/`])).toEqual({
      code: 1,
      stdout: `http://127.0.0.1:${port}/\n\n! 127.0.0.1: TCP: ECONNREFUSED\n`,
      stderr: `hedge-lab: http://127.0.0.1:${port}/: no answer (127.0.0.1: TCP: ECONNREFUSED)\n`
    })
  })

  it("needs a URL", async () => {
    expect(await probe([])).toMatchObject({ code: 1, stderr: "hedge-lab: Missing argument <url>\n" })
  })
})
