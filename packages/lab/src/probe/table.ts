/** The findings for people: a column for each address. */
import { grid } from "../grid.js"
import type { AddressFinding, Failure, Finding, Phase } from "./findings.js"

export const render = ({ addresses, dnsMs, url }: Finding): string => {
  const name =
    dnsMs === null ? [] : [`DNS ${ms(dnsMs)}: ${addresses.map(({ address }) => address).join(", ")}`]
  const rows = lines.flatMap(([label, cell]) => {
    const cells = addresses.map((finding) => cell(finding) ?? "")
    return cells.some((text) => text !== "") ? [[label, ...cells.map((text) => text || none)]] : []
  })
  const remarks = [
    ...addresses.flatMap(problems).map((problem) => `! ${problem}`),
    ...addresses.flatMap(remarksOn)
  ]
  return [
    [url, ...name].join("\n"),
    ...(rows.length === 0 ? [] : [grid([["", ...addresses.map(({ address }) => address)], ...rows])]),
    ...(remarks.length === 0 ? [] : [remarks.join("\n")])
  ].join("\n\n")
}

const none = "–"

/** Why there is no answer from an address. */
export const problems = ({ address, failure }: AddressFinding): ReadonlyArray<string> =>
  failure === null ? [] : [`${address}: ${inWords(failure)}`]

export const inWords = ({ phase, problem }: Failure): string => `${phases[phase]}: ${problem}`

const phases: Readonly<Record<Phase, string>> = {
  dns: "DNS",
  tcp: "TCP",
  tls: "TLS",
  settings: "HTTP/2 SETTINGS",
  ping: "PING",
  firstByte: "first byte",
  body: "body"
}

type Cell = (finding: AddressFinding) => string | null | undefined

const lines: ReadonlyArray<readonly [label: string, cell: Cell]> = [
  ["TCP", ({ tcpMs }) => ms(tcpMs)],
  ["TLS", ({ tlsMs }) => ms(tlsMs)],
  ["first byte", ({ firstByteMs }) => ms(firstByteMs)],
  ["body", ({ answer, bodyMs }) => (answer !== null && !answer.ended ? "no end" : ms(bodyMs))],
  ["status", ({ answer }) => answer && `${answer.status}, ${count(answer.bytes)} bytes`],
  ["protocol", ({ protocol }) => protocol],
  ["TLS version", ({ tls }) => tls?.version],
  ["cipher", ({ tls }) => tls?.cipher],
  ["certificate", ({ tls }) => tls && `${tls.certificate.subject}, by ${tls.certificate.issuer}`],
  ["valid until", ({ tls }) => tls?.certificate.validTo.slice(0, 10)],
  ["streams at once", ({ settings }) => settings && (numbered(settings.maxConcurrentStreams) ?? "no limit")],
  ["window of a stream", ({ settings }) => settings && `${count(settings.streamWindow)} bytes`],
  ["window of the connection", ({ settings }) => settings && `${count(settings.connectionWindow)} bytes`],
  ["PING, least", ({ pings }) => pings && ms(pings.minMs)],
  ["PING, median", ({ pings }) => pings && `${ms(pings.medianMs)} of ${pings.count}`],
  ["PING, most", ({ pings }) => pings && ms(pings.maxMs)],
  ["second request", ({ second }) => second && (second.reused ? "same connection" : "not answered")],
  ["its first byte", ({ second }) => second && ms(second.firstByteMs)],
  ["kernel: send queue", (finding) => kernel(finding, ({ sendQueue }) => `${count(sendQueue)} bytes`)],
  ["kernel: retransmits", (finding) => kernel(finding, ({ retransmits }) => count(retransmits))],
  [
    "kernel: congestion window",
    (finding) =>
      kernel(finding, ({ congestionWindow }) => congestionWindow && `${count(congestionWindow)} segments`)
  ],
  ["kernel: round trip", (finding) => kernel(finding, ({ rttMs }) => ms(rttMs))]
]

type Kernel = Exclude<AddressFinding["kernel"], { readonly unavailable: string } | null>

const kernel = ({ kernel }: AddressFinding, cell: (known: Kernel) => string | 0 | null): string | null =>
  kernel === null || "unavailable" in kernel ? null : cell(kernel) || null

const remarksOn = ({ address, kernel, second }: AddressFinding): ReadonlyArray<string> => [
  ...(second === null || second.problem === null ? [] : [`${address}: second request: ${second.problem}`]),
  ...(kernel !== null && "unavailable" in kernel ? [`${address}: kernel: ${kernel.unavailable}`] : [])
]

const count = (n: number): string => n.toLocaleString("en-US")
const numbered = (n: number | null): string | null => (n === null ? null : count(n))
const ms = (value: number | null): string | null => (value === null ? null : `${value.toFixed(1)} ms`)
